/* SPDX-License-Identifier: BSD-2-Clause
 * Declarations of what the application uses, after the documentation of Zephyr. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
struct device { const char *name; };
extern const struct device node_quintet_uart;
#define DT_ALIAS(name) node_##name
#define DEVICE_DT_GET(node) (&node)
#define ARG_UNUSED(name) ((void)(name))
bool device_is_ready(const struct device *device);
