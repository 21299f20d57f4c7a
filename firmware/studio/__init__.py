# SPDX-License-Identifier: BSD-2-Clause
"""A local web page on which digits are drawn and recognised by the cores (``quintet studio``)."""
