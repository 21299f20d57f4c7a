# SPDX-License-Identifier: BSD-2-Clause
"""Weight-stationary mapping: layers as matrices, their demand for arrays, their assignment to
cores, and splitting of layers that do not fit."""
