// SPDX-License-Identifier: BSD-2-Clause
// A board around a netlist: clocks in real time, memory chip and flash memory at the pins, the host's end of the serial line. netlist/simulation.py fills it.
#include "memories.hpp"
#include "multipliers.hpp"
#include "trail.hpp"
#include "async_sram.hpp"
#include "chip_config.hpp"
#include "register_record.hpp"
#include "sdr_sdram.hpp"
#include "spi_flash.hpp"
#include "uart_line.hpp"
#include <cmath>
#include <cstring>
#include <deque>

using namespace quintet;

// A pad, or several of one name: what the FPGA drives, whether it does, and what it sees. Missing ones are LOW.
struct Pads {
	std::vector<Net> drives, enables, sees;
	// What is driven, or the enables, as bits.
	static uint64_t bits(const Engine &e, const std::vector<Net> &nets) {
		uint64_t result = 0;
		for (size_t i = 0; i < nets.size(); i++) result |= uint64_t(e.get(nets[i])) << i;
		return result;
	}
	// Released pins are pulled up.
	uint64_t level(const Engine &e) const {
		uint64_t result = 0;
		for (size_t i = 0; i < drives.size(); i++) result |= uint64_t(e.get(drives[i]) || !e.get(enables[i])) << i;
		return result;
	}
};

// A PLL gives a slow clock until it is locked, that is for `early` edges; then one with its phase. All in picoseconds.
struct Clock {
	Net net;
	double first, period;       // of the first rising edge with that phase, between two of them
	double early_period = 0;
	uint64_t early = 0, halves = 0;     // edges in all, and so far
	double next() const {
		auto at = [](uint64_t edge, double one) { return double(edge >> 1) * one + (edge & 1 ? one / 2 : 0); };
		return halves < early ? at(halves, early_period) : first + at(halves - early, period);
	}
};

// Roles of pads, by number: tools/netlist/pins.py.
enum Role { RX, TX, BUSY, FAULT, CHIP_CLOCK, CKE, CS, RAS, CAS, WE, BANK, ADDRESS, MASK, DATA, OE, FLASH_CS, FLASH_CLOCK, FLASH_DATA, ROLES };

struct Board {
	Engine e;
	std::vector<Clock> clocks;      // the first is the main one
	Net lock = LOW;
	double locked_at = 0;
	bool locked = false;
	Pads pads[ROLES];
	uint64_t cycle = 0, last_byte = 0;
	std::string error;
	UartLine line;
	std::deque<uint8_t> to_board, from_board;
	std::unique_ptr<SdrSdram> sdram;
	std::unique_ptr<AsyncSram> sram;
	std::unique_ptr<SpiFlash> flash;
	bool chip_clock = false, first_half = false;
	double changed_at = 0, rises = 1e18;   // of the SDRAM's lines; from there to its clock's edge, the shortest time
	uint64_t lines = 0, looked_at = 0;
	Trail trail;
	RegisterRecord record;
	std::vector<Net> places;        // of registers that are recorded

	Board(uint32_t nets, uint64_t seed, bool calm) : e(nets, seed, calm) {}

	uint64_t watched() const { return places.size(); }
	bool level(uint64_t i) const { return e.get(places[i]); }

	void fail(const std::string &what) {
		if (error.empty()) error = "cycle " + std::to_string(cycle) + ": " + what;
	}

	bool all(const std::vector<Net> &nets, bool level) const {
		for (Net net : nets) if (e.get(net) != level) return false;
		return true;
	}

	bool data_enabled() {
		const bool on = data_on();
		if (!all(pads[DATA].enables, on)) fail("only some of the data lines are driven");
		return on;
	}
	bool data_on() const { return e.get(pads[DATA].enables[0]); }

	void see(const Pads &of, uint64_t levels) {
		for (size_t i = 0; i < of.sees.size(); i++) if (of.sees[i] > HIGH) e.set(of.sees[i], levels >> i & 1);
	}

	// Levels that the SDRAM's lines have, to know when they change.
	uint64_t chip_lines() const {
		uint64_t sum = 0;
		for (int role : {CKE, CS, RAS, CAS, WE, BANK, ADDRESS, MASK}) sum = sum << pads[role].drives.size() | pads[role].level(e);
		return sum * 0x9e3779b97f4a7c15u ^ (data_on() ? pads[DATA].level(e) + 1 : 0);
	}

	// Everything that leaves the FPGA.
	uint64_t all_pins() const {
		uint64_t sum = 0;
		for (uint64_t role = 0; role < ROLES; role++) sum ^= mix(role, pads[role].level(e));
		return sum;
	}

	void before_main_edge() {
		see(pads[RX], line.send(cycle, to_board));
		if (flash) {
			const Pads &data = pads[FLASH_DATA];
			see(data, flash->cycle(!pads[FLASH_CS].level(e), pads[FLASH_CLOCK].level(e), unsigned(Pads::bits(e, data.drives)),
			                       unsigned(Pads::bits(e, data.enables))));
		}
		uint8_t byte;
		if (line.take(cycle, pads[TX].level(e), byte)) from_board.push_back(byte), last_byte = cycle;
		if (sram) {
			if (pads[CS].level(e)) fail("the SRAM's chip select is off");
			unsigned write = unsigned(first_half) | unsigned(!pads[WE].level(e)) << 1;
			see(pads[DATA], sram->cycle(uint32_t(pads[ADDRESS].level(e)), !pads[OE].level(e), write, ~uint32_t(pads[MASK].level(e)) & 3,
			                            uint32_t(pads[DATA].level(e)), data_enabled()));
		}
	}

	void chip_edge() {
		if (locked) rises = std::min(rises, e.now - changed_at);
		sdram->edge(pads[CKE].level(e), pads[CS].level(e), pads[RAS].level(e), pads[CAS].level(e), pads[WE].level(e), uint32_t(pads[BANK].level(e)),
		            uint32_t(pads[ADDRESS].level(e)), uint32_t(pads[MASK].level(e)), uint32_t(pads[DATA].level(e)), data_enabled());
		see(pads[DATA], sdram->dq());
	}

	// The next moment at which any clock has an edge.
	void moment() {
		double next = clocks[0].next();
		for (const Clock &clock : clocks) next = std::min(next, clock.next());
		if (!locked && next >= locked_at) {
			locked = true;
			e.set(lock, true);
		}
		e.now = next;
		const bool main_edge = clocks[0].next() < next + 0.5, rises_now = !(clocks[0].halves & 1);
		if (main_edge && rises_now) {
			before_main_edge();
			e.settle();
		}
		if (main_edge && !rises_now && sram) first_half = !pads[WE].level(e);
		for (Clock &clock : clocks)
			if (clock.next() < next + 0.5) {
				e.set(clock.net, !(clock.halves & 1));
				clock.halves++;
			}
		e.settle();
		if (sdram) {
			if (looked_at != e.changes) {
				looked_at = e.changes;
				if (uint64_t now_lines = chip_lines(); now_lines != lines) lines = now_lines, changed_at = e.now;
			}
			const bool level = pads[CHIP_CLOCK].level(e);
			if (level && !chip_clock) {
				chip_edge();
				e.settle();
			}
			chip_clock = level;
		}
		if (main_edge && rises_now) {
			if (trail.looks()) trail.step(cycle, {e.state, all_pins()}, [this] { return e.registers(); });
			cycle++;
			if (!places.empty()) {
				record.sum = e.watched;
				record.step(cycle, places.size(), [this](uint64_t i) { return level(i); });
				if (record.differs != RegisterRecord::NEVER) fail("registers are not what they are held against");
			}
		}
		if (!e.error.empty()) fail(e.error), e.error.clear();
	}

	uint64_t run(uint64_t cycles, uint64_t wanted, uint64_t silence) {
		const uint64_t end = cycle + cycles;
		while (cycle < end && error.empty()) {
			const uint64_t before = cycle;
			while (cycle == before && error.empty()) moment();
			if (!from_board.empty() && (from_board.size() >= wanted || cycle - last_byte >= silence)) break;
		}
		if (sdram && sdram->violation()) fail(std::string("SDRAM chip: ") + sdram->violation());
		if (sram && sram->violation()) fail(std::string("SRAM chip: ") + sram->violation());
		if (flash && flash->violation()) fail(std::string("flash memory: ") + flash->violation());
		return from_board.size();
	}
};

enum Kind { DP16KD, RAM40, SPRAM, MULT18, MAC16 };

#define HARNESS Board
#include "register_exports.hpp"

extern "C" {

Board *netlist_new(uint32_t nets, uint64_t seed, int calm) { return new Board(nets, seed, calm); }
void netlist_delete(Board *h) { delete h; }
const char *netlist_error(Board *h) { return h->error.c_str(); }
uint64_t netlist_cycle(Board *h) { return h->cycle; }

// Rows of five nets (inputs, output), and the tables.
void netlist_luts(Board *h, uint32_t count, const uint32_t *rows, const uint16_t *tables) {
	for (uint32_t i = 0; i < count; i++, rows += 5) h->e.luts.push_back({{rows[0], rows[1], rows[2], rows[3]}, rows[4], tables[i], 0});
}

// Rows of clock, d, enable, reset, q and flags.
void netlist_flops(Board *h, uint32_t count, const uint32_t *rows) {
	for (uint32_t i = 0; i < count; i++, rows += 6) h->e.flops.push_back({rows[0], rows[1], rows[2], rows[3], rows[4], rows[5]});
}

// Rows of clock, enable, data, four address nets and the number of the table.
void netlist_writers(Board *h, uint32_t count, const uint32_t *rows) {
	for (uint32_t i = 0; i < count; i++, rows += 8)
		h->e.writers.push_back({rows[0], rows[1], rows[2], {rows[3], rows[4], rows[5], rows[6]}, rows[7]});
}

void netlist_cell(Board *h, int kind, uint32_t count, const uint32_t *pins, const int64_t *parameters, const uint32_t *contents) {
	std::unique_ptr<Cell> cell;
	switch (kind) {
	case DP16KD: cell.reset(new Dp16kd(parameters, contents)); break;
	case RAM40: cell.reset(new Ram40(parameters, contents)); break;
	case SPRAM: cell.reset(new Spram); break;
	case MULT18: cell.reset(new Mult18(parameters)); break;
	default: cell.reset(new Mac16(parameters)); break;
	}
	cell->pins.assign(pins, pins + count);
	cell->number = uint32_t(h->e.cells.size());
	h->e.cells.push_back(std::move(cell));
}

// Level of a net that nothing drives.
void netlist_level(Board *h, uint32_t net, int level) { h->e.value[net] = uint8_t(level); }

// A clock of the pads, or of a PLL that is locked at `locked` (0: none); it has `early` periods until then, slower by the factor `slow`.
void netlist_clock(Board *h, uint32_t net, double first, double period, double locked, double slow, uint64_t early) {
	h->clocks.push_back({net, locked + first, period, slow * period, 2 * early});
}
void netlist_lock(Board *h, uint32_t net, double at) { h->lock = net, h->locked_at = at; }

void netlist_pads(Board *h, int role, uint32_t count, const uint32_t *drives, const uint32_t *enables, const uint32_t *sees) {
	h->pads[role] = {{drives, drives + count}, {enables, enables + count}, {sees, sees + count}};
}

void netlist_line(Board *h, double cycles_per_bit) { h->line.cycles_per_bit = cycles_per_bit; }
void netlist_sram(Board *h, uint32_t address_bits, int too_fast) { h->sram.reset(new AsyncSram(address_bits, too_fast)); }

// Flash memory with these contents, from address 0.
void netlist_flash(Board *h, const uint8_t *data, uint64_t count, uint64_t size, uint64_t period_ps) {
	h->flash.reset(new SpiFlash(data, count, size, period_ps));
}

void netlist_sdram(Board *h, const BoardConfig *c) {
	h->sdram.reset(new SdrSdram(sdram_config<SdrSdram>(*c)));
	if (h->e.calm) return;
	std::mt19937_64 random(h->e.random());
	uint8_t *data = h->sdram->data();
	for (size_t i = 0; i < h->sdram->size(); i += 8) {
		uint64_t word = random();
		std::memcpy(data + i, &word, 8);
	}
}

// 0: ready. Else the number of a net that is driven by itself, as the error.
int netlist_finish(Board *h) {
	if (h->e.finish()) return 0;
	h->error = h->e.error;
	return 1;
}

// Inputs that each table has seen.
void netlist_seen(Board *h, uint16_t *masks) {
	for (size_t i = 0; i < h->e.luts.size(); i++) masks[i] = h->e.luts[i].seen;
}

// Of a hard cell: rows that were read before they were written, as 1. Returns how many rows it has.
uint32_t netlist_rows(Board *h, uint32_t cell, uint8_t *rows) {
	const auto &from = h->e.cells[cell]->read_first;
	for (size_t i = 0; i < from.size(); i++) rows[i] = from[i] == 1;
	return uint32_t(from.size());
}

// Keeps a trail from now on; how many steps it has, and two numbers of each.
void netlist_keep_trail(Board *h) { h->trail.keeps = true; }
uint64_t netlist_trail(Board *h, uint64_t *steps) {
	if (steps) std::memcpy(steps, h->trail.steps.data(), h->trail.steps.size() * sizeof(Trail::Step));
	return h->trail.steps.size();
}
// Sum of what all registers hold.
uint64_t netlist_state(Board *h) { return h->e.state; }
// Holds what follows against a trail, which begins with cycle 0, and `start`, what registers held before it.
void netlist_follow(Board *h, uint64_t start, uint64_t count, const Trail::Step *steps) {
	h->trail.own = h->e.state ^ start;
	h->trail.other.assign(steps, steps + count);
}
// First and last cycle in which registers differ that did not from the beginning, first one in which pins do.
void netlist_differences(Board *h, uint64_t *cycles) { cycles[0] = h->trail.first_state, cycles[1] = h->trail.last_state, cycles[2] = h->trail.first_pins; }
// Copies registers after these cycles; copy number `which`, one number a register, as Engine::registers has them. False: there is none.
void netlist_copy_after(Board *h, uint64_t count, const uint64_t *cycles) { h->trail.wanted.assign(cycles, cycles + count); }
int netlist_copy(Board *h, uint64_t which, uint64_t *registers) {
	if (which >= h->trail.copies.size()) return 0;
	std::copy(h->trail.copies[which].begin(), h->trail.copies[which].end(), registers);
	return 1;
}

// Records nets, each with its weight. Before netlist_finish().
void netlist_watch(Board *h, uint64_t count, const uint32_t *nets, const uint64_t *weights) {
	h->places.assign(nets, nets + count);
	for (uint64_t i = 0; i < count; i++) h->e.weights[nets[i]] ^= weights[i];
}

int netlist_get(Board *h, uint32_t net) { return h->e.get(net); }
// Sets a net that nothing drives, and lets everything follow, long after configuration.
void netlist_set(Board *h, uint32_t net, int level) {
	h->e.now = std::max(h->e.now, Ram40::ASLEEP);
	h->e.set(net, level);
	h->e.settle();
}
// Least picoseconds from a change of the SDRAM's lines to its clock's edge.
double netlist_rises(Board *h) { return h->rises; }

// What the link of a virtual board calls, too (boards/virtual/board.cpp).
uint64_t board_run(Board *h, uint64_t cycles, uint64_t wanted, uint64_t silence) { return h->run(cycles, wanted, silence); }
void board_write(Board *h, const uint8_t *data, uint64_t size) { h->to_board.insert(h->to_board.end(), data, data + size); }
uint64_t board_read(Board *h, uint8_t *data, uint64_t limit) {
	uint64_t n = std::min<uint64_t>(limit, h->from_board.size());
	std::copy_n(h->from_board.begin(), n, data);
	h->from_board.erase(h->from_board.begin(), h->from_board.begin() + n);
	return n;
}
// Contents of the memory chip, where there is one.
uint8_t *board_chip(Board *h, uint64_t *size) {
	*size = h->sdram ? h->sdram->size() : h->sram ? h->sram->size() : 0;
	return h->sdram ? h->sdram->data() : h->sram ? h->sram->data() : nullptr;
}
uint64_t board_waiting(Board *h) { return h->to_board.size() + h->line.sending(); }
uint64_t board_available(Board *h) { return h->from_board.size(); }
void board_forget(Board *h) { h->to_board.clear(), h->from_board.clear(); }
int board_busy(Board *h) { return int(h->pads[BUSY].level(h->e)); }
int board_fault(Board *h) { return int(h->pads[FAULT].level(h->e)); }
uint64_t board_framing_errors(Board *h) { return h->line.framing_errors; }
uint64_t board_refreshes(Board *h) { return h->sdram ? h->sdram->refreshes : 0; }

} // extern "C"
