# SPDX-License-Identifier: BSD-2-Clause
"""LOAD of PIM: program images into a machine."""
