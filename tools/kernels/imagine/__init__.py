# SPDX-License-Identifier: BSD-2-Clause
"""Programs of matrix-vector products, of which the compiler makes IMAGine's networks.

* :class:`~.layer.Layer` is y = sum of W_k x_k + b in fixed point;
* :mod:`.template` makes programs whose input vectors lie at fixed words, with weights that stay in
  the array or are loaded with every run;
* :class:`~.program.ProgramCalls` is a program as calls of the published assembler.
"""
