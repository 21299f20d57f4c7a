# SPDX-License-Identifier: BSD-2-Clause
"""Asynchronous SRAM as main memory: parts, controller, pins, and a model of the chip."""
