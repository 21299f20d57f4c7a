# SPDX-License-Identifier: BSD-2-Clause
"""From a trained network to a program: import, passes, quantiser, back ends, plans and sessions."""
