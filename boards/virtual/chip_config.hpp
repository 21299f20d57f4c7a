// SPDX-License-Identifier: BSD-2-Clause
// What Python says of a board's memory chip and serial line (_Config of board.py), and the models made of it.
#pragma once
#include <algorithm>
#include <cstdint>

struct BoardConfig {
	double cycles_per_bit;
	uint32_t data_bits, bank_bits, row_bits, column_bits, t_mrd;
	uint64_t period_ps, cl2_period_ps, cl3_period_ps, t_rcd_ps, t_rp_ps, t_ras_ps, t_rc_ps, t_rfc_ps, t_wr_ps, t_rrd_ps;
	uint64_t t_ras_max_ps, powerup_ps, refresh_ps;
	int64_t t_is_ps, t_ih_ps, t_ac2_ps, t_ac3_ps, t_oh_ps, rises_ps[2], returns_ps[2];
	uint32_t address_bits, too_fast, reset_cycles;
	// DDR3: waits in cycles of the controller, in the order of `ddr3_config`; cycles until it is ready; it never is.
	uint32_t ddr3_cycles[11], ddr3_ready, ddr3_fails;
};

// `Port`: DDR3Port.
template <typename Port> typename Port::Config ddr3_config(const BoardConfig &c) {
	typename Port::Config s;
	unsigned *const times[] = {&s.t_rp, &s.t_rcd, &s.t_wr, &s.t_refi, &s.t_rfc, &s.t_wtr, &s.t_ccd, &s.t_rc, &s.t_ras, &s.read, &s.write};
	for (unsigned i = 0; i < 11; i++) *times[i] = c.ddr3_cycles[i];
	s.row_bits = c.row_bits, s.bank_bits = c.bank_bits, s.column_bits = c.column_bits;
	s.ready_after = c.ddr3_ready, s.fails = c.ddr3_fails;
	return s;
}

// `Chip`: SdrSdram.
template <typename Chip> typename Chip::Config sdram_config(const BoardConfig &c) {
	typename Chip::Config s;
	s.data_bits = c.data_bits, s.bank_bits = c.bank_bits, s.row_bits = c.row_bits, s.column_bits = c.column_bits;
	s.period_ps = c.period_ps, s.cl2_period_ps = c.cl2_period_ps, s.cl3_period_ps = c.cl3_period_ps;
	s.t_rcd_ps = c.t_rcd_ps, s.t_rp_ps = c.t_rp_ps, s.t_ras_ps = c.t_ras_ps, s.t_rc_ps = c.t_rc_ps;
	s.t_rfc_ps = c.t_rfc_ps, s.t_wr_ps = c.t_wr_ps, s.t_rrd_ps = c.t_rrd_ps, s.t_ras_max_ps = c.t_ras_max_ps;
	s.t_mrd = c.t_mrd, s.powerup_ps = c.powerup_ps, s.refresh_ps = c.refresh_ps;
	s.t_is_ps = c.t_is_ps, s.t_ih_ps = c.t_ih_ps, s.t_ac2_ps = c.t_ac2_ps, s.t_ac3_ps = c.t_ac3_ps, s.t_oh_ps = c.t_oh_ps;
	std::copy(c.rises_ps, c.rises_ps + 2, s.rises_ps), std::copy(c.returns_ps, c.returns_ps + 2, s.returns_ps);
	return s;
}
