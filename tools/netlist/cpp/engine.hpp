// SPDX-License-Identifier: BSD-2-Clause
// A netlist of look-up tables, flip-flops and hard cells, simulated by events: what no net of a cell has changed is not computed again.
//
// Look-up tables and the combinational part of hard cells are sorted by levels; an event queue a level settles them. Clocks are nets like
// any other. All cells of all clocks that rise (or fall) at one moment take their inputs as they were before it. A flip-flop of which no input has
// changed since its last edge is not looked at, nor is a hard cell that has come to rest.
#pragma once
#include "cells.hpp"
#include "mix.hpp"
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace quintet {

struct Engine {
	std::vector<uint8_t> value;
	std::vector<Lut> luts;
	std::vector<FlipFlop> flops;
	std::vector<TableWriter> writers;
	std::vector<std::unique_ptr<Cell>> cells;
	std::mt19937_64 random;
	double now = 0;             // picoseconds
	uint64_t changes = 0;       // of nets, so far
	uint64_t state = 0;         // sum of what all registers and memories hold, kept up to date
	std::vector<uint64_t> weights;      // of nets that are watched, 0 of all others
	uint64_t watched = 0;       // sum of those that are 1, kept up to date
	const bool calm;            // what the chip does not define is as a virtual board has it, rather than random
	std::string error;

	Engine(uint32_t nets, uint64_t seed, bool calm) : value(nets, 0), random(seed), weights(nets, 0), calm(calm) { value[HIGH] = 1; }

	// What the chip does not define: bits, or, where it is calm, 0.
	uint64_t undefined() { return calm ? 0 : random(); }
	// By what bits are wrong that are read while another port writes them. The gateware's twins turn all of them over; in simulation a plain memory gives
	// what stood there.
	uint64_t collision(bool twin) { return !calm ? random() : twin ? ~uint64_t(0) : 0; }

	bool get(Net net) const { return value[net]; }

	uint64_t number(const Net *nets, unsigned count) const {
		uint64_t result = 0;
		for (unsigned i = 0; i < count; i++) result |= uint64_t(value[nets[i]]) << i;
		return result;
	}

	void set(Net net, bool level) {
		if (value[net] == level) return;
		value[net] = level;
		touched(net);
	}

	// Level of a register: an output of a flip-flop, or of a cell that follows nothing.
	void set_register(Net net, bool level) {
		if (value[net] == level) return;
		if (keeps[net]) state ^= mix(net);
		value[net] = level;
		touched(net);
	}

	// For cells: an output's value after this moment's edges.
	void later(Net net, bool level) { if (net > HIGH) after.push_back({net, level}); }
	void later(const Net *nets, unsigned count, uint64_t number) {
		for (unsigned i = 0; i < count; i++) later(nets[i], number >> i & 1);
	}

	// Sorts by levels and computes everything once. False: `error` says which net is driven by itself.
	bool finish();

	// Lets everything follow nets that were set, edges of clocks included.
	void settle() {
		run();
		while (!edges.empty()) {
			std::vector<Net> now_edges;
			now_edges.swap(edges);
			for (Net net : now_edges) clock(net);
			for (Cell *cell : fired) {
				cell->fired = false;
				cell->finish(*this);
			}
			fired.clear();
			for (auto [lut, table] : tables) {
				state ^= mix(uint64_t(lut) << 32, luts[lut].table) ^ mix(uint64_t(lut) << 32, table);
				luts[lut].table = table;
				queue(lut);
			}
			tables.clear();
			std::vector<std::pair<Net, bool>> change;
			change.swap(after);
			for (auto [net, level] : change) set_register(net, level);
			change.clear();
			run();
		}
	}

	void fire(Cell *cell) {
		if (cell->fired) return;
		cell->fired = true;
		fired.push_back(cell);
	}

	// What a snapshot says of each register: flip-flops, hard cells, tables that are written.
	std::vector<uint64_t> registers() const {
		std::vector<uint64_t> all;
		for (const FlipFlop &flop : flops) all.push_back(value[flop.q]);
		for (const auto &cell : cells) {
			uint64_t sum = cell->contents;
			for (Net net : cell->outputs()) if (keeps[net] && value[net]) sum ^= mix(net);
			all.push_back(sum);
		}
		for (const TableWriter &writer : writers) all.push_back(luts[writer.lut].table);
		return all;
	}

private:
	struct ClockGroup {
		std::vector<uint32_t> pending[2], writers;      // flip-flops to be looked at, of the falling and of the rising edge
		std::vector<Cell *> cells;
	};
	std::vector<uint32_t> fanout_start, fanout;     // nodes (tables, then cells) that follow a net
	std::vector<uint32_t> wakes_start, wakes;       // flip-flops, then cells, that look at a net at an edge
	std::vector<uint8_t> pending, keeps;            // of a flip-flop: it is in its group's list; of a net: it is a register
	std::vector<uint32_t> level;                    // of a node
	std::vector<std::vector<uint32_t>> queues;      // by level
	std::vector<uint8_t> queued;
	std::vector<int32_t> group_of, resets_of;       // of a net, -1: none
	std::vector<ClockGroup> groups;
	std::vector<std::vector<uint32_t>> resets;      // flip-flops with an asynchronous reset
	std::vector<Net> edges;
	std::vector<Cell *> fired;
	std::vector<std::pair<uint32_t, uint16_t>> tables;
	std::vector<std::pair<Net, bool>> after;
	uint32_t lowest = ~0u;

	unsigned index(const Lut &lut) const { return value[lut.in[0]] | value[lut.in[1]] << 1 | value[lut.in[2]] << 2 | value[lut.in[3]] << 3; }

	void queue(uint32_t node) {
		if (queued[node]) return;
		queued[node] = 1;
		queues[level[node]].push_back(node);
		if (level[node] < lowest) lowest = level[node];
	}

	void touched(Net net) {
		changes++;
		watched ^= weights[net];
		for (uint32_t i = fanout_start[net]; i < fanout_start[net + 1]; i++) queue(fanout[i]);
		for (uint32_t i = wakes_start[net]; i < wakes_start[net + 1]; i++) wake(wakes[i]);
		if (group_of[net] >= 0) edges.push_back(net);
		if (resets_of[net] >= 0 && value[net])
			for (uint32_t flop : resets[resets_of[net]]) set_register(flops[flop].q, flops[flop].flags & RESET_TO_1);
	}

	void wake(uint32_t sleeper) {
		if (sleeper >= flops.size()) cells[sleeper - flops.size()]->awake = Cell::RESTLESS;
		else if (!pending[sleeper]) {
			pending[sleeper] = 1;
			groups[group_of[flops[sleeper].clock]].pending[!(flops[sleeper].flags & FALLING)].push_back(sleeper);
		}
	}

	void run() {
		for (uint32_t at = lowest; at < queues.size();) {
			lowest = ~0u;
			for (size_t i = 0; i < queues[at].size(); i++) {
				uint32_t node = queues[at][i];
				queued[node] = 0;
				if (node < luts.size()) {
					Lut &lut = luts[node];
					const unsigned input = index(lut);
					lut.seen |= uint16_t(1u << input);
					set(lut.out, lut.table >> input & 1);
				} else cells[node - luts.size()]->settle(*this);
			}
			queues[at].clear();
			at = lowest < at ? lowest : at + 1;
		}
		lowest = ~0u;
	}

	void clock(Net net) {
		ClockGroup &group = groups[group_of[net]];
		const bool rose = value[net];
		for (uint32_t index : group.pending[rose]) {
			const FlipFlop &flop = flops[index];
			pending[index] = 0;
			bool reset = value[flop.reset], next;
			if (reset && ((flop.flags & ASYNCHRONOUS) || !(flop.flags & ENABLE_FIRST) || value[flop.enable])) next = flop.flags & RESET_TO_1;
			else if (value[flop.enable]) next = value[flop.d];
			else continue;
			if (next != bool(value[flop.q])) after.push_back({flop.q, next});
		}
		group.pending[rose].clear();
		if (!rose) return;
		for (uint32_t index : group.writers) {
			const TableWriter &w = writers[index];
			if (!value[w.enable]) continue;
			uint16_t bit = uint16_t(1u << number(w.address, 4));
			tables.push_back({w.lut, uint16_t(value[w.data] ? luts[w.lut].table | bit : luts[w.lut].table & ~bit)});
		}
		for (Cell *cell : group.cells) {
			if (!cell->awake) continue;
			cell->awake -= cell->sleeps;
			cell->edge(*this, net);
		}
	}

	// What follows or looks at a net, for all nets: lists one behind the other, and where each begins.
	static void invert(size_t nets, const std::vector<std::vector<Net>> &reads, std::vector<uint32_t> &start, std::vector<uint32_t> &all) {
		start.assign(nets + 1, 0);
		for (auto &each : reads) for (Net net : each) if (net > HIGH) start[net + 1]++;
		for (size_t i = 0; i < nets; i++) start[i + 1] += start[i];
		all.resize(start[nets]);
		std::vector<uint32_t> at(start.begin(), start.end() - 1);
		for (size_t i = 0; i < reads.size(); i++) for (Net net : reads[i]) if (net > HIGH) all[at[net]++] = uint32_t(i);
	}

	ClockGroup &group(Net net) {
		if (group_of[net] < 0) {
			group_of[net] = int32_t(groups.size());
			groups.emplace_back();
		}
		return groups[group_of[net]];
	}
};

inline void Cell::stored(Engine &e, uint32_t row, uint64_t before, uint64_t now) {
	if (before == now) return;
	const uint64_t place = uint64_t(number + 1) << 32 | row, change = mix(~place, before) ^ mix(~place, now);
	contents ^= change, e.state ^= change;
}

inline bool Engine::finish() {
	const size_t nets = value.size(), nodes = luts.size() + cells.size();
	std::vector<std::vector<Net>> reads(nodes);
	std::vector<int32_t> driver(nets, -1);
	for (size_t i = 0; i < luts.size(); i++) {
		reads[i].assign(luts[i].in, luts[i].in + 4);
		driver[luts[i].out] = int32_t(i);
	}
	for (size_t i = 0; i < cells.size(); i++) {
		reads[luts.size() + i] = cells[i]->follows();
		if (!reads[luts.size() + i].empty())
			for (Net net : cells[i]->outputs()) driver[net] = int32_t(luts.size() + i);
	}
	invert(nets, reads, fanout_start, fanout);
	std::vector<uint32_t> open(nodes, 0);
	for (size_t i = 0; i < nodes; i++)
		for (Net net : reads[i]) open[i] += net > HIGH && driver[net] >= 0;
	level.assign(nodes, 0);
	std::vector<uint32_t> ready;
	for (size_t i = 0; i < nodes; i++) if (!open[i]) ready.push_back(uint32_t(i));
	uint32_t most = 0;
	for (size_t done = 0; done < ready.size(); done++) {
		uint32_t node = ready[done];
		std::vector<Net> out = node < luts.size() ? std::vector<Net>{luts[node].out} : cells[node - luts.size()]->outputs();
		if (node >= luts.size() && reads[node].empty()) out.clear();
		for (Net net : out)
			for (uint32_t i = fanout_start[net]; i < fanout_start[net + 1]; i++) {
				uint32_t next = fanout[i];
				if (level[next] < level[node] + 1) level[next] = level[node] + 1;
				if (!--open[next]) ready.push_back(next);
			}
		if (level[node] > most) most = level[node];
	}
	if (ready.size() < nodes) {
		for (size_t i = 0; i < nodes; i++)
			if (open[i]) {
				error = std::to_string(i < luts.size() ? luts[i].out : cells[i - luts.size()]->outputs()[0]);
				return false;
			}
	}
	queues.resize(most + 1);
	queued.assign(nodes, 0);
	group_of.assign(nets, -1);
	resets_of.assign(nets, -1);
	keeps.assign(nets, 0);
	pending.assign(flops.size(), 0);
	std::vector<std::vector<Net>> looks(flops.size() + cells.size());
	for (size_t i = 0; i < flops.size(); i++) {
		FlipFlop &f = flops[i];
		group(f.clock);
		looks[i] = {f.d, f.enable, f.reset};
		value[f.q] = bool(f.flags & STARTS_AT_1);
		keeps[f.q] = 1;
		if ((f.flags & ASYNCHRONOUS) && f.reset > HIGH) {
			if (resets_of[f.reset] < 0) {
				resets_of[f.reset] = int32_t(resets.size());
				resets.emplace_back();
			}
			resets[resets_of[f.reset]].push_back(uint32_t(i));
		}
	}
	for (size_t i = 0; i < writers.size(); i++) group(writers[i].clock).writers.push_back(uint32_t(i));
	for (auto &cell : cells) {
		const auto own = cell->clocks();
		for (Net net : own) if (net > HIGH) group(net).cells.push_back(cell.get());
		// What one clock's edge leaves for another's is not to be slept through.
		cell->sleeps = own.size() == 1;
		for (Net net : cell->pins) {
			bool clocks_it = false;
			for (Net each : own) clocks_it |= each == net;
			if (!clocks_it) looks[flops.size() + cell->number].push_back(net);
		}
		if (cell->follows().empty()) for (Net net : cell->outputs()) keeps[net] = net > HIGH;
		cell->start(*this);
	}
	invert(nets, looks, wakes_start, wakes);
	for (uint32_t i = 0; i < flops.size(); i++) wake(i);
	// What it starts with is no edge.
	for (uint32_t i = 0; i < nodes; i++) queue(i);
	run();
	edges.clear();
	for (auto &list : resets)
		for (uint32_t flop : list) if (value[flops[flop].reset]) set(flops[flop].q, flops[flop].flags & RESET_TO_1);
	run();
	edges.clear();
	for (auto &lut : luts) lut.seen = uint16_t(1u << index(lut));
	for (Net net = HIGH; net < nets; net++)
		if (value[net]) {
			watched ^= weights[net];
			if (keeps[net]) state ^= mix(net);
		}
	return true;
}

} // namespace quintet
