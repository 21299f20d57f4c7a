/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
typedef struct { int64_t ticks; } k_timeout_t;
struct k_sem { unsigned count; };
#define K_MSEC(ms) ((k_timeout_t){(int64_t)(ms)})
#define K_SEM_DEFINE(name, initial, limit) struct k_sem name = {initial}
int k_sem_take(struct k_sem *sem, k_timeout_t timeout);
void k_sem_give(struct k_sem *sem);
uint32_t k_uptime_get_32(void);
