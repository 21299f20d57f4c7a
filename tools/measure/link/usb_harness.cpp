// SPDX-License-Identifier: BSD-2-Clause
// A host on the wires of the link's USB device.
#include "design.cc"
#include "simulation.hpp"
#include "usb_host.hpp"

using namespace quintet;

struct Harness : Simulation {
	UsbHost host;
	bool unplugged = false;

	void observe() {
		bool device = flag(top.p_pins____d__p____oe);
		UsbLevel level = USB_SE0;
		if (device != flag(top.p_pins____d__n____oe)) host.fail("the device drives one wire alone");
		if (device) level = UsbLevel(flag(top.p_pins____d__p____o) | flag(top.p_pins____d__n____o) << 1);
		else if (host.drives) level = host.level;
		else if (flag(top.p_pins____pullup)) level = USB_J;
		if (unplugged) level = USB_SE0;
		else host.step(level, device);
		flag(top.p_pins____d__p____i, level & 1);
		flag(top.p_pins____d__n____i, level >> 1 & 1);
		if (!host.error.empty()) fail(host.error);
	}
};

#define HARNESS Harness
#include "exports.hpp"

extern "C" {
void usb_setup(Harness *h, uint64_t seed, unsigned spoil, unsigned nak_rest) {
	h->host.chance = seed * 0x9E3779B97F4A7C15u | 1, h->host.spoil = spoil, h->host.nak_rest = nak_rest;
}
void usb_lose(Harness *h, unsigned acknowledgements) { h->host.lost = acknowledgements; }
void usb_unplug(Harness *h, int unplugged) { h->unplugged = unplugged; }
void usb_reset(Harness *h, uint64_t bits) { h->host.reset(bits); }
void usb_address(Harness *h, unsigned address) { h->host.address = uint8_t(address); }
void usb_configured(Harness *h) { h->host.clear_toggles(), h->host.polls = true; }
void usb_polls(Harness *h, int polls) { h->host.polls = polls; }
void usb_control(Harness *h, const uint8_t *setup, const uint8_t *data, unsigned size) { h->host.control(setup, data, size); }
int usb_result(Harness *h) { return h->host.result; }
uint64_t usb_answer(Harness *h, uint8_t *data) {
	std::memcpy(data, h->host.data.data(), h->host.data.size());
	return h->host.data.size();
}
void usb_push(Harness *h, const uint8_t *data, uint64_t count) { h->host.out.insert(h->host.out.end(), data, data + count); }
uint64_t usb_waiting(Harness *h) { return h->host.out.size(); }
uint64_t usb_pop(Harness *h, uint8_t *data, uint64_t limit) {
	uint64_t count = 0;
	for (; count < limit && !h->host.in.empty(); count++) data[count] = h->host.in.front(), h->host.in.pop_front();
	return count;
}
// frames, naks, retries, spoilt, empty packets, packets out, packets in, shortest and longest turnaround in quarter bits
void usb_counts(Harness *h, uint64_t *counts) {
	UsbHost &o = h->host;
	uint64_t all[] = {o.frames, o.naks, o.retries, o.spoilt, o.empty, o.packets_out, o.packets_in, o.turnaround_min, o.turnaround_max};
	std::memcpy(counts, all, sizeof all);
}
// Cycles, until: 1 a control transfer has ended, 2 a whole frame of the link has come in, 3 all was sent.
void usb_run(Harness *h, uint64_t count, int until) {
	size_t seen = 0;
	h->enter();
	while (count-- && h->error.empty()) {
		h->tick([h] { h->observe(); });
		if (until == 1 && h->host.result != UsbHost::PENDING) return;
		if (until == 3 && h->host.out.empty()) return;
		if (until != 2) continue;
		for (; seen < h->host.in.size(); seen++)
			if (!h->host.in[seen]) return;
	}
}
}
