# SPDX-License-Identifier: BSD-2-Clause
"""USB link: a CDC-ACM serial device at full speed, on LUNA (docs/how/usb.md)."""
