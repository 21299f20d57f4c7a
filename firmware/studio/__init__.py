# SPDX-License-Identifier: BSD-2-Clause
"""Studio: a local web page on which the cores recognise drawn digits (``quintet studio``)."""
