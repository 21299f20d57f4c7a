// SPDX-License-Identifier: BSD-2-Clause
// Multipliers as the chips have them.
#pragma once
#include "engine.hpp"

namespace quintet {

// ECP5's multiplier: two operands of 18 bits, registers at its inputs, behind the product and at its output.
struct Mult18 : Cell {
	// Pins: A, B, signed A, signed B, then of each register (A, B, product, output) clock, enable, reset; product.
	enum { A, B = 18, SIGNED_A = 36, SIGNED_B, REGISTERS, OUT = 50, PINS = 86 };
	int64_t held[4] = {0, 0, 0, 0};
	bool used[4], asynchronous;

	// Parameters: whether each register is used; whether their resets act without a clock.
	explicit Mult18(const int64_t *parameters) : asynchronous(parameters[4]) { std::copy(parameters, parameters + 4, used); }

	std::vector<Net> clocks() const override {
		std::vector<Net> all;
		for (int i = 0; i < 4; i++) {
			Net net = pins[REGISTERS + 3 * i];
			bool known = !used[i];
			for (Net each : all) known |= each == net;
			if (!known) all.push_back(net);
		}
		return all;
	}
	std::vector<Net> outputs() const override { return {&pins[OUT], &pins[OUT] + 36}; }
	std::vector<Net> follows() const override {
		if (used[3]) return {};
		std::vector<Net> all;
		if (!used[2]) {
			if (!used[0]) all.insert(all.end(), &pins[A], &pins[A] + 18), all.push_back(pins[SIGNED_A]);
			if (!used[1]) all.insert(all.end(), &pins[B], &pins[B] + 18), all.push_back(pins[SIGNED_B]);
		}
		// Of registers alone: it follows nothing, but is settled after each edge (finish).
		return all;
	}
	int64_t operand(const Engine &e, int which) const {
		int64_t raw = int64_t(e.number(&pins[which ? B : A], 18));
		return e.get(pins[which ? SIGNED_B : SIGNED_A]) && raw >> 17 ? raw - (1 << 18) : raw;
	}
	int64_t factor(const Engine &e, int which) const { return used[which] ? held[which] : operand(e, which); }
	int64_t product(const Engine &e) const { return factor(e, 0) * factor(e, 1); }
	int64_t late(const Engine &e) const { return used[2] ? held[2] : product(e); }

	void edge(Engine &e, Net net) override {
		next[0] = operand(e, 0), next[1] = operand(e, 1), next[2] = product(e), next[3] = late(e);
		for (int i = 0; i < 4; i++) {
			const Net *r = &pins[REGISTERS + 3 * i];
			takes[i] = takes[i] || (used[i] && r[0] == net && (e.get(r[1]) || e.get(r[2])));
			if (e.get(r[2])) next[i] = 0;
		}
		e.fire(this);
	}
	void finish(Engine &e) override {
		for (int i = 0; i < 4; i++) {
			if (takes[i]) {
				stored(e, uint32_t(i), uint64_t(held[i]), uint64_t(next[i]));
				held[i] = next[i];
			}
			takes[i] = false;
		}
		e.later(&pins[OUT], 36, uint64_t(used[3] ? held[3] : late(e)));
	}
	void settle(Engine &e) override {
		uint64_t p = uint64_t(late(e));
		for (unsigned i = 0; i < 36; i++) if (pins[OUT + i] > HIGH) e.set(pins[OUT + i], p >> i & 1);
	}

private:
	int64_t next[4] = {0, 0, 0, 0};
	bool takes[4] = {false, false, false, false};
};

// iCE40 UltraPlus' multiplier and accumulator (Lattice TN1295): two products of 8 bits or one of 16, adders behind them.
struct Mac16 : Cell {
	enum { CLOCK, ENABLE, C, A = 18, B = 34, D = 50, A_HOLD = 66, B_HOLD, C_HOLD, D_HOLD, TOP_RESET, BOTTOM_RESET, TOP_OUT_RESET, BOTTOM_OUT_RESET,
	       TOP_LOAD, BOTTOM_LOAD, TOP_SUBTRACT, BOTTOM_SUBTRACT, TOP_HOLD, BOTTOM_HOLD, CARRY_IN, ACCUMULATOR_CARRY_IN, SIGN_IN, OUT, CARRY_OUT = OUT + 32,
	       ACCUMULATOR_CARRY_OUT, SIGN_OUT, PINS };
	enum { C_REG, A_REG, B_REG, D_REG, TOP_PRODUCT_REG, BOTTOM_PRODUCT_REG, MIDDLE_REG, PRODUCT_REG, TOP_SELECT, TOP_LOWER, TOP_UPPER, TOP_CARRY,
	       BOTTOM_SELECT, BOTTOM_LOWER, BOTTOM_UPPER, BOTTOM_CARRY, TWO_PRODUCTS, A_SIGNED, B_SIGNED, PARAMETERS };
	int64_t p[PARAMETERS];
	// Registers by the data sheet's letters.
	struct State { uint16_t a, b, c, d, f, j, k, g, q, s; uint32_t h; } now = {}, next = {};

	explicit Mac16(const int64_t *parameters) { std::copy(parameters, parameters + PARAMETERS, p); }

	std::vector<Net> clocks() const override { return {pins[CLOCK]}; }
	std::vector<Net> outputs() const override { return {&pins[OUT], &pins[OUT] + 35}; }
	// Whether an output follows inputs without a clock: through the adder, or through products without registers.
	bool open_path(int64_t select, bool product_register, bool sum_register) const {
		const bool operands = p[A_REG] && p[B_REG];
		return select == 0 || (select == 2 && !product_register && !operands) ||
		       (select == 3 && !sum_register && !(p[MIDDLE_REG] && p[TOP_PRODUCT_REG] && p[BOTTOM_PRODUCT_REG]) && !operands);
	}
	std::vector<Net> follows() const override {
		bool open = open_path(p[TOP_SELECT], p[TOP_PRODUCT_REG], p[PRODUCT_REG]) || open_path(p[BOTTOM_SELECT], p[BOTTOM_PRODUCT_REG], p[PRODUCT_REG]);
		for (int i = CARRY_OUT; i <= SIGN_OUT; i++) open = open || pins[i] > HIGH;
		for (int i = TOP_RESET; i <= BOTTOM_OUT_RESET; i++) open = open || pins[i] != LOW;
		if (!open) return {};
		return {pins.begin() + C, pins.begin() + OUT};
	}

	uint16_t word(const Engine &e, int at) const { return uint16_t(e.number(&pins[at], 16)); }
	// 8 bits of an operand: its upper half has its sign, its lower one only where there are two products.
	static int32_t half(uint16_t x, bool upper, bool is_signed) {
		int32_t value = upper ? x >> 8 : x & 255;
		return is_signed && value & 128 ? value - 256 : value;
	}

	struct Values { uint16_t f, j, k, g, p, r, top, bottom; uint32_t l; bool carry, accumulator_carry, sign; };
	Values compute(const Engine &e) const {
		Values v{};
		uint16_t c = p[C_REG] ? now.c : word(e, C), a = p[A_REG] ? now.a : word(e, A);
		uint16_t b = p[B_REG] ? now.b : word(e, B), d = p[D_REG] ? now.d : word(e, D);
		const bool two = p[TWO_PRODUCTS];
		int32_t ah = half(a, true, p[A_SIGNED]), al = half(a, false, p[A_SIGNED] && two);
		int32_t bh = half(b, true, p[B_SIGNED]), bl = half(b, false, p[B_SIGNED] && two);
		v.f = uint16_t(ah * bh), v.j = uint16_t((al & 255) * bh), v.k = uint16_t(ah * (bl & 255)), v.g = uint16_t(al * bl);
		uint16_t f = p[TOP_PRODUCT_REG] ? now.f : v.f, g = p[BOTTOM_PRODUCT_REG] ? now.g : v.g;
		uint16_t j = p[MIDDLE_REG] ? now.j : v.j, k = p[MIDDLE_REG] ? now.k : v.k;
		auto middle = [](uint16_t x, bool is_signed) { return uint32_t(is_signed && x >> 15 ? x | 0xff0000u : x) << 8; };
		v.l = g + middle(k, p[A_SIGNED]) + middle(j, p[B_SIGNED]) + (uint32_t(f) << 16);
		uint32_t h = p[PRODUCT_REG] ? now.h : v.l;
		bool sign_in = e.get(pins[SIGN_IN]), top_subtract = e.get(pins[TOP_SUBTRACT]), bottom_subtract = e.get(pins[BOTTOM_SUBTRACT]);
		uint16_t z = p[BOTTOM_LOWER] == 0 ? b : p[BOTTOM_LOWER] == 1 ? g : p[BOTTOM_LOWER] == 2 ? uint16_t(h) : uint16_t(sign_in ? 0xffff : 0);
		uint16_t y = p[BOTTOM_UPPER] ? d : now.s;
		bool low_carry = p[BOTTOM_CARRY] == 1 || (p[BOTTOM_CARRY] == 2 && e.get(pins[ACCUMULATOR_CARRY_IN])) || (p[BOTTOM_CARRY] == 3 && e.get(pins[CARRY_IN]));
		uint32_t low = z + uint32_t(uint16_t(y ^ (bottom_subtract ? 0xffff : 0))) + low_carry;
		v.r = e.get(pins[BOTTOM_LOAD]) ? d : uint16_t(low ^ (bottom_subtract ? 0xffff : 0));
		bool low_out = low >> 16 & 1;
		uint16_t x = p[TOP_LOWER] == 0 ? a : p[TOP_LOWER] == 1 ? f : p[TOP_LOWER] == 2 ? uint16_t(h >> 16) : uint16_t(z >> 15 ? 0xffff : 0);
		uint16_t w = p[TOP_UPPER] ? c : now.q;
		bool high_carry = p[TOP_CARRY] == 1 || (p[TOP_CARRY] == 2 && low_out) || (p[TOP_CARRY] == 3 && (low_out ^ bottom_subtract));
		uint32_t high = x + uint32_t(uint16_t(w ^ (top_subtract ? 0xffff : 0))) + high_carry;
		v.p = e.get(pins[TOP_LOAD]) ? c : uint16_t(high ^ (top_subtract ? 0xffff : 0));
		v.accumulator_carry = high >> 16 & 1, v.carry = v.accumulator_carry ^ top_subtract, v.sign = x >> 15;
		v.top = p[TOP_SELECT] == 0 ? v.p : p[TOP_SELECT] == 1 ? now.q : p[TOP_SELECT] == 2 ? f : uint16_t(h >> 16);
		v.bottom = p[BOTTOM_SELECT] == 0 ? v.r : p[BOTTOM_SELECT] == 1 ? now.s : p[BOTTOM_SELECT] == 2 ? g : uint16_t(h);
		return v;
	}

	void edge(Engine &e, Net) override {
		Values v = compute(e);
		next = now;
		auto held = [&](int pin) { return e.get(pins[pin]); };
		const bool two = p[TWO_PRODUCTS];
		if (e.get(pins[ENABLE])) {
			if (!held(C_HOLD)) next.c = word(e, C);
			if (!held(A_HOLD)) next.a = word(e, A);
			if (!held(B_HOLD)) next.b = word(e, B);
			if (!held(D_HOLD)) next.d = word(e, D);
			next.f = v.f, next.g = v.g;
			if (!two) next.j = v.j, next.k = v.k, next.h = v.l;
			if (!held(TOP_HOLD)) next.q = v.p;
			if (!held(BOTTOM_HOLD)) next.s = v.r;
		}
		clear(e, next);
		e.fire(this);
	}
	// Its resets need no clock.
	void clear(const Engine &e, State &s) const {
		if (e.get(pins[TOP_RESET])) s.c = s.a = s.f = s.j = 0;
		if (e.get(pins[BOTTOM_RESET])) s.b = s.d = s.k = s.g = 0, s.h = 0;
		if (e.get(pins[TOP_OUT_RESET])) s.q = 0;
		if (e.get(pins[BOTTOM_OUT_RESET])) s.s = 0;
	}
	void finish(Engine &e) override {
		take(e, next);
		Values v = compute(e);
		e.later(&pins[OUT], 32, uint32_t(v.top) << 16 | v.bottom);
		e.later(pins[CARRY_OUT], v.carry), e.later(pins[ACCUMULATOR_CARRY_OUT], v.accumulator_carry), e.later(pins[SIGN_OUT], v.sign);
	}
	// What it adds up goes on while no pin changes.
	void take(Engine &e, const State &after) {
		const uint64_t before = sum(now), then = sum(after);
		if (before != then) awake = RESTLESS;
		stored(e, 0, before, then);
		now = after;
	}
	static uint64_t sum(const State &s) {
		return mix(uint64_t(s.a) << 48 | uint64_t(s.b) << 32 | uint64_t(s.c) << 16 | s.d) ^ mix(uint64_t(s.f) << 48 | uint64_t(s.j) << 32 | uint64_t(s.k) << 16 | s.g, 1)
		       ^ mix(uint64_t(s.q) << 48 | uint64_t(s.s) << 32 | s.h, 2);
	}
	void settle(Engine &e) override {
		State after = now;
		clear(e, after);
		take(e, after);
		Values v = compute(e);
		uint32_t o = uint32_t(v.top) << 16 | v.bottom;
		for (unsigned i = 0; i < 32; i++) if (pins[OUT + i] > HIGH) e.set(pins[OUT + i], o >> i & 1);
		Net last[] = {pins[CARRY_OUT], pins[ACCUMULATOR_CARRY_OUT], pins[SIGN_OUT]};
		bool levels[] = {v.carry, v.accumulator_carry, v.sign};
		for (int i = 0; i < 3; i++) if (last[i] > HIGH) e.set(last[i], levels[i]);
	}
};

} // namespace quintet
