/* SPDX-License-Identifier: BSD-2-Clause */
void printk(const char *format, ...);
