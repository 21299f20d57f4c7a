# SPDX-License-Identifier: BSD-2-Clause
"""Importers and exporters of the published PIM program forms. Pure Python."""
