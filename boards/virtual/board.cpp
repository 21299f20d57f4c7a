// SPDX-License-Identifier: BSD-2-Clause
// Harness for a virtual board: the SoC, its memory chip, and the host's end of the link.
#include "design.cc"
#include "ports.hpp"
#include "chip_config.hpp"
#if QUINTET_REGISTERS
#include "register_table.hpp"
#include "register_record.hpp"
#endif
#include "timeline.hpp"
#include "uart_line.hpp"
#if BOARD_SPI
#include "spi_master.hpp"
#endif
#include <deque>
#include <memory>
#include <vector>
#if BOARD_SDRAM
#include "sdr_sdram.hpp"
#if !defined(REGISTERED_pads__cs_n) || !defined(REGISTERED_pads__a) || !defined(REGISTERED_pads__dq__o)
#error "the chip model looks at pads between two edges, so they must be registers"
#endif
#endif

#if BOARD_SRAM
#include "async_sram.hpp"
#if !defined(REGISTERED_pads__a) || !defined(REGISTERED_pads__we) || !defined(REGISTERED_pads__d__o)
#error "the chip model looks at pads between two edges, so they must be registers"
#endif
#endif
#if BOARD_DDR3
#include "ddr3_port.hpp"
#endif
#define BOARD_CHIP (BOARD_SDRAM || BOARD_SRAM || BOARD_DDR3)

#if BOARD_FLASH
#include "spi_flash.hpp"
#endif

using namespace quintet;

// Wires between the FPGA and its memory chip, as they should be until a test spoils them.
struct Wires {
	uint64_t keep = ~0ull, set = 0;     // of the data lines, both ways
	unsigned swap_a = 0, swap_b = 0;    // two address lines that are exchanged

	uint64_t data(uint64_t lines) const { return (lines & keep) | set; }
	uint64_t address(uint64_t lines) const {
		uint64_t differ = ((lines >> swap_a) ^ (lines >> swap_b)) & 1;
		return lines ^ (differ << swap_a) ^ (differ << swap_b);
	}
};

// A cell of a memory of the design that does not take what is written.
struct StuckCell {
	uint32_t *word, mask, value;
};

#if QUINTET_REGISTERS
// Registers of the design that are recorded: 32 bits of one each.
struct Watched {
	const uint32_t *at;
	uint32_t mask = 0, before = 0;
	uint64_t weights[32] = {};
};
#endif

struct Board : Simulation {
	Wires wires;
	uint64_t columns = ~0ull;           // address lines that the chip looks at with a column, where wires are exchanged
	std::vector<StuckCell> stuck;
	std::unique_ptr<Timeline> timeline;

	void at_second() override {
		if (timeline) timeline->at_second();
	}

	// What the chip's address pins see.
	uint64_t address(uint64_t lines, bool column) const {
		return wires.swap_a == wires.swap_b ? lines : wires.address(lines) & (column ? columns : ~0ull);
	}
	std::deque<uint8_t> to_board, from_board;
	uint64_t last_byte = 0;      // cycle in which the board sent its last byte
	unsigned reset_left = 0;
	UartLine line;
#if BOARD_SDRAM
	std::unique_ptr<SdrSdram> chip;
#if BOARD_SDRAM == 2
	// The two edges of a chip whose clock is twice as fast. Each half of a cycle has one of two words; a command stands in
	// the first half only.
	void sdram_halves() {
		static constexpr unsigned WORD = 16, MASKS = WORD / 8;
		const uint32_t a = address(chunks(top.p_pads____a)[0], flag(top.p_pads____ras__n));
		uint32_t seen = 0;
		for (unsigned half = 0; half < 2; half++) {
			const bool rest = half != 0;
			chip->edge(flag(top.p_pads____cke), flag(top.p_pads____cs__n), rest || flag(top.p_pads____ras__n),
			           rest || flag(top.p_pads____cas__n), rest || flag(top.p_pads____we__n), chunks(top.p_pads____ba)[0], a,
			           chunks(top.p_pads____dqm)[0] >> MASKS * half, wires.data(chunks(top.p_pads____dq____o)[0] >> WORD * half),
			           flag(top.p_pads____dq____oe));
			seen |= uint32_t(uint16_t(wires.data(chip->dq()))) << WORD * half;
		}
		chunks(top.p_pads____dq____i)[0] = seen;
	}
#endif
#elif BOARD_SRAM
	std::unique_ptr<AsyncSram> chip;
#elif BOARD_DDR3
	std::unique_ptr<DDR3Port> chip;

	// A command that waits for the controller. Which of them it takes depends on the address that it is offered in the same
	// cycle, known only when the design is evaluated. A command that it does not take waits here instead of in the design's
	// register; the next one reaches the controller in the same cycle either way.
	struct { bool valid = false, write; uint64_t address; } ddr3_command;

	void ddr3_outputs() {
		flag(top.p_pads____ready, chip->ready()), flag(top.p_pads____failed, chip->failed());
		flag(top.p_pads____native____cmd__ready, chip->ready() && !ddr3_command.valid);
		flag(top.p_pads____native____wdata__ready, chip->wdata_ready());
		flag(top.p_pads____native____rdata__valid, chip->rdata_valid());
		if (chip->rdata_valid()) std::memcpy(chunks(top.p_pads____native____rdata__data), chip->rdata_data(), DDR3Port::BEAT);
	}

	// The controller's edge at the end of this cycle.
	void ddr3_edge() {
		if (flag(top.p_pads____native____cmd__valid) && flag(top.p_pads____native____cmd__ready)) {
			ddr3_command.valid = true, ddr3_command.write = flag(top.p_pads____native____cmd__we);
			ddr3_command.address = chunks(top.p_pads____native____cmd__addr)[0];
		}
		const bool takes = ddr3_command.valid && chip->cmd_ready(ddr3_command.address);
		if (chip->wdata_ready() && !flag(top.p_pads____native____wdata__valid)) fail("LiteDRAM takes data of a write that are not there");
		uint8_t data[DDR3Port::BEAT];
		std::memcpy(data, chunks(top.p_pads____native____wdata__data), sizeof data);
		chip->edge(takes, ddr3_command.write, ddr3_command.address, data, uint16_t(chunks(top.p_pads____native____wdata__we)[0]));
		if (takes) ddr3_command.valid = false;
		if (flag(top.p_reset__request)) chip->restart(), ddr3_command.valid = false;
	}
#endif

#if BOARD_FLASH
	std::unique_ptr<SpiFlash> flash;
#endif

#if BOARD_SPI
	SpiMaster master;

	// Gives the host's pins to the board, between two edges of the main clock; `cipo` as it was before.
	bool spi_level(bool edge) {
#if !QUINTET_ONE_PASS
		settle();
#endif
		flag(top.p_spi____cs, master.cs), flag(top.p_spi____copi, master.copi), flag(top.p_spi____sck, master.sck);
		chunks(top.prev_p_spi____sck)[0] = master.sck != edge;
		main(false), second(false);
		top.eval(&checks);
		const bool cipo = flag(top.p_spi____cipo);
		if (edge && master.sck && !flag(top.p_spi____cipo__oe)) fail("the SPI link does not drive its data line while it is selected");
		top.commit();
		chunks(top.prev_p_spi____sck)[0] = master.sck;
		return cipo;
	}
#endif

#if QUINTET_REGISTERS
	RegisterRecord record;
	std::vector<Watched> words;
	std::vector<std::pair<const uint32_t *, uint8_t>> places;   // of each bit

	uint64_t watched() const { return places.size(); }
	bool level(uint64_t i) const { return *places[i].first >> places[i].second & 1; }

	void record_registers() {
		for (Watched &w : words)
			if (uint32_t changed = (*w.at ^ w.before) & w.mask) {
				w.before ^= changed;
				for (; changed; changed &= changed - 1) record.sum ^= w.weights[__builtin_ctz(changed)];
			}
		record.step(cycle, places.size(), [this](uint64_t i) { return level(i); });
	}
#endif

	void configure(const BoardConfig &c) {
		line.cycles_per_bit = c.cycles_per_bit;
#if BOARD_SDRAM
		chip.reset(new SdrSdram(sdram_config<SdrSdram>(c)));
		columns = ((1ull << c.column_bits) - 1) | 1 << 10;
#elif BOARD_SRAM
		chip.reset(new AsyncSram(c.address_bits, c.too_fast));
#elif BOARD_DDR3
		chip.reset(new DDR3Port(ddr3_config<DDR3Port>(c)));
#endif
	}

	inline void cycle_once() {
#if BOARD_SDRAM == 2
		sdram_halves();
#elif BOARD_SDRAM
		// The chip's edge of this cycle; the pads are registers, so they stand already.
		chip->edge(flag(top.p_pads____cke), flag(top.p_pads____cs__n), flag(top.p_pads____ras__n),
		           flag(top.p_pads____cas__n), flag(top.p_pads____we__n), chunks(top.p_pads____ba)[0],
		           address(chunks(top.p_pads____a)[0], flag(top.p_pads____ras__n)), chunks(top.p_pads____dqm)[0], wires.data(chunks(top.p_pads____dq____o)[0]),
		           flag(top.p_pads____dq____oe));
		chunks(top.p_pads____dq____i)[0] = wires.data(chip->dq());
#elif BOARD_SRAM
		chunks(top.p_pads____d____i)[0] = wires.data(chip->cycle(
			address(chunks(top.p_pads____a)[0], false), flag(top.p_pads____oe), chunks(top.p_pads____we)[0], chunks(top.p_pads____be)[0],
			wires.data(chunks(top.p_pads____d____o)[0]), flag(top.p_pads____d____oe)));
#elif BOARD_DDR3
		ddr3_outputs();
#endif
#if BOARD_FLASH
		if (flash)
			chunks(top.p_flash____dq____i)[0] = flash->cycle(flag(top.p_flash____cs), flag(top.p_flash____clk),
				chunks(top.p_flash____dq____o)[0], chunks(top.p_flash____dq____oe)[0]);
#endif
#if BOARD_WIRE
		flag(top.p_rx__line, line.send(cycle, to_board));
#elif BOARD_SPI
		master.until(double(cycle) + 1, [this](bool edge) { return spi_level(edge); });
#endif
		tick([this] {
#if BOARD_DDR3
			ddr3_edge();
#endif
#if BOARD_WIRE
			uint8_t byte;
			if (line.take(cycle, flag(top.p_tx__line), byte)) from_board.push_back(byte), last_byte = cycle;
#elif !BOARD_SPI
			if (flag(top.p_rx____valid) && flag(top.p_rx____ready)) to_board.pop_front();
			if (flag(top.p_tx____valid)) from_board.push_back(uint8_t(chunks(top.p_tx____payload)[0])), last_byte = cycle;
#endif
			// Then the reset is high for 1,024 edges, as on the FPGA (MainClock of boards/top.py).
			if (flag(top.p_reset__request)) reset_left = 1025;
			if (timeline) timeline->at_main(cycle);
		});
#if !BOARD_WIRE && !BOARD_SPI
		bool valid = !to_board.empty();
		flag(top.p_rx____valid, valid);
		if (valid) chunks(top.p_rx____payload)[0] = to_board.front();
#endif
#if QUINTET_REGISTERS
		if (!words.empty()) record_registers();
#endif
		for (const StuckCell &cell : stuck)
			if ((*cell.word & cell.mask) != cell.value) *cell.word = (*cell.word & ~cell.mask) | cell.value, touch();
		if (reset_left) {
			reset_left--;
			reset(reset_left != 0);
		}
	}

	// Up to `cycles`; stops with `wanted` bytes from the board, or when it has sent some and then been silent for
	// `silence` cycles. Returns the bytes that wait.
	uint64_t run(uint64_t cycles, uint64_t wanted, uint64_t silence) {
		while (cycles-- && error.empty()) {
			cycle_once();
			if (!from_board.empty() && (from_board.size() >= wanted || cycle - last_byte >= silence)) break;
		}
#if BOARD_SDRAM || BOARD_SRAM
		if (chip->violation()) fail(std::string(BOARD_SDRAM ? "SDRAM chip: " : "SRAM chip: ") + chip->violation());
#endif
#if BOARD_FLASH
		if (flash && flash->violation()) fail(std::string("flash memory: ") + flash->violation());
#endif
		return from_board.size();
	}
};

#define HARNESS Board
#include "exports.hpp"
#if QUINTET_REGISTERS
#include "register_exports.hpp"
#endif

extern "C" {

#if QUINTET_REGISTERS
// Records bits of registers from now on, of `registers` in all: numbers of registers, numbers of bits in them and their weights.
void registers_watch(Board *h, uint64_t registers, uint64_t count, const uint32_t *numbers, const uint32_t *bits, const uint64_t *weights) {
	std::vector<uint32_t *> at(registers);
	quintet_places(h->top, at.data());
	for (uint64_t i = 0; i < count; i++) {
		const uint32_t *word = at[numbers[i]] + bits[i] / 32;
		const unsigned bit = bits[i] % 32;
		if (h->words.empty() || h->words.back().at != word) h->words.push_back({word});
		Watched &w = h->words.back();
		w.mask |= 1u << bit, w.weights[bit] = weights[i];
		h->places.push_back({word, uint8_t(bit)});
		if (*word >> bit & 1) w.before |= 1u << bit, h->record.sum ^= weights[i];
	}
}
#endif

void board_configure(Board *h, const BoardConfig *c) {
	h->configure(*c);
#if BOARD_WIRE
	flag(h->top.p_rx__line, true);
#elif !BOARD_SPI
	flag(h->top.p_tx____ready, true);
#endif
	h->reset(true);
	for (uint32_t i = 0; i < c->reset_cycles; i++) h->cycle_once();
	h->reset(false);
}

#if BOARD_FLASH
// Flash memory with these contents, from address 0; `dies_after` so many bytes that were read.
void board_flash(Board *h, const uint8_t *data, uint64_t count, uint64_t size, uint64_t period_ps, uint64_t dies_after, int quad) {
	h->flash.reset(new SpiFlash(data, count, size, period_ps));
	h->flash->quad = quad;
	h->flash->dies_after = dies_after;
}

uint64_t board_flash_read(Board *h) { return h->flash ? h->flash->read_bytes : 0; }
int board_ready(Board *h) { return flag(h->top.p_ready); }
int board_blink(Board *h) { return flag(h->top.p_blink); }
#endif

#if BOARD_SPI
// Of the host on the SPI link: half a period of its clock in cycles, and by which part of it edges come late at most.
void board_spi(Board *h, double half, double jitter, uint64_t seed) {
	h->master.half = half, h->master.jitter = jitter, h->master.chance = seed * 0x9E3779B97F4A7C15u | 1;
}

// One transfer of `count` bytes both ways, from selection to deselection.
void board_spi_transfer(Board *h, const uint8_t *out, uint8_t *in, uint64_t count) {
	h->enter();
	h->master.begin(h->cycle, out, 8 * count);
	while (h->master.busy() && h->error.empty()) h->run(1, ~0ull, ~0ull);
	std::memcpy(in, h->master.in.data(), count);
}

// Until bytes wait for the host, at most `cycles`.
void board_spi_wait(Board *h, uint64_t cycles) {
	h->enter();
	while (cycles-- && h->error.empty() && !flag(h->top.p_spi____ready)) h->run(1, ~0ull, ~0ull);
}
#endif

uint64_t board_run(Board *h, uint64_t cycles, uint64_t wanted, uint64_t silence) { return h->enter(), h->run(cycles, wanted, silence); }

void board_write(Board *h, const uint8_t *data, uint64_t size) { h->to_board.insert(h->to_board.end(), data, data + size); }

// Bytes that the host wrote and the board has not taken.
uint64_t board_waiting(Board *h) { return h->to_board.size() + h->line.sending(); }

uint64_t board_read(Board *h, uint8_t *data, uint64_t limit) {
	uint64_t n = h->from_board.size() < limit ? h->from_board.size() : limit;
	for (uint64_t i = 0; i < n; i++) data[i] = h->from_board[i];
	h->from_board.erase(h->from_board.begin(), h->from_board.begin() + n);
	return n;
}

uint64_t board_available(Board *h) { return h->from_board.size(); }

// What the host wrote and the board has not taken, and what the board sent and the host has not.
void board_forget(Board *h) {
#if BOARD_WIRE || BOARD_SPI
	h->to_board.clear();
#else
	// A stream does not take back the byte it offers.
	if (h->to_board.size() > 1) h->to_board.resize(1);
	if (!flag(h->top.p_rx____valid)) h->to_board.clear();
#endif
	h->from_board.clear();
}

// Faults for tests: data lines as masks, two address lines exchanged, bits of a word of one of the design's memories.
void board_wires(Board *h, uint64_t keep, uint64_t set, unsigned swap_a, unsigned swap_b) {
	h->wires = {keep, set, swap_a, swap_b};
#if BOARD_DDR3
	h->chip->keep = uint16_t(keep), h->chip->set = uint16_t(set);
#endif
}
void board_stick(Board *h, uint32_t *word, uint32_t mask, uint32_t value) { h->stuck.push_back({word, mask, value & mask}); }

// From now on: `count` rows, ticks of the slices that are kept, and how many of them at most.
void board_timeline(Board *h, const TimelineRow *rows, uint64_t count, uint64_t from, uint64_t to, uint64_t limit) {
	h->timeline.reset(new Timeline);
	Timeline &t = *h->timeline;
	t.from = from, t.to = to, t.limit = limit;
	// A main cycle has as many ticks as there are edges of the second clock in `main_edges` of them.
	t.main_ticks = h->second_edges, t.second_ticks = h->main_edges;
	t.seconds = h->cycle * t.main_ticks / t.second_ticks;
	for (uint64_t k = 0; k < count; k++)
		t.add(rows[k], quintet_ports[rows[k].flags].where(h->top), rows[k].number < 0 ? nullptr : quintet_ports[rows[k].number].where(h->top));
}

// The slices so far, and where they end for want of room (all ones: nowhere).
const TimelineSlice *board_slices(Board *h, uint64_t *count, uint64_t *full) {
	h->timeline->cut();
	*count = h->timeline->slices.size(), *full = h->timeline->full;
	return h->timeline->slices.data();
}

int board_busy(Board *h) { return flag(h->top.p_busy); }
int board_fault(Board *h) { return flag(h->top.p_fault); }
uint64_t board_framing_errors(Board *h) { return h->line.framing_errors; }

// Contents of the memory chip, where there is one.
uint8_t *board_chip(Board *h, uint64_t *size) {
#if BOARD_CHIP
	*size = h->chip->size();
	return h->chip->data();
#else
	(void)h;
	*size = 0;
	return nullptr;
#endif
}

// activates, precharges, reads, writes, refreshes
void board_chip_counts(Board *h, uint64_t *counts) {
#if BOARD_SDRAM
	SdrSdram &c = *h->chip;
	counts[0] = c.activates, counts[1] = c.precharges, counts[2] = c.reads, counts[3] = c.writes, counts[4] = c.refreshes;
#elif BOARD_SRAM
	counts[0] = counts[1] = counts[4] = 0, counts[2] = h->chip->reads, counts[3] = h->chip->writes;
#elif BOARD_DDR3
	DDR3Port &c = *h->chip;
	counts[0] = c.activates, counts[1] = c.precharges, counts[2] = c.reads, counts[3] = c.writes, counts[4] = c.refreshes;
#else
	(void)h, (void)counts;
#endif
}

} // extern "C"
