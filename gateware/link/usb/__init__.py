# SPDX-License-Identifier: BSD-2-Clause
"""The link over USB: a CDC-ACM serial device at full speed, on LUNA (docs/how/usb.md)."""
