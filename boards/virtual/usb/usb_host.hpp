// SPDX-License-Identifier: BSD-2-Clause
// A full-speed host on D+ and D-: frames, transactions, control transfers and two bulk pipes, bit by bit (USB 2.0, chapters 7 and 8).
// One step is a 48 MHz cycle, a quarter of a bit.
#pragma once
#include "usb_packets.hpp"
#include <deque>
#include <string>
#include <vector>

namespace quintet {

struct UsbHost {
	static constexpr unsigned STEPS = 4, FRAME = 12000;      // steps a bit, bits a frame
	static constexpr unsigned PACKET = 64, BULK = 1;         // bytes of a packet, number of the bulk endpoints
	static constexpr unsigned TIMEOUT = 18, ROOM = 760;      // bits: to an answer; that a transaction of 64 bytes may take
	enum Result { PENDING = 1, DONE = 0, STALLED = 2, FAILED = 3 };

	// What the wires are from here: driven or not, and their levels.
	bool drives = false;
	UsbLevel level = USB_J;

	std::deque<uint8_t> out, in;         // bytes of the bulk pipes
	bool polls = false;                  // asks the bulk IN endpoint
	unsigned gap = 3;                    // bits of rest in front of a packet of ours
	// Bits for which an IN endpoint that had nothing is left alone while there is something to send; 0: IN and OUT in turns.
	unsigned nak_rest = 0;
	uint8_t address = 0;
	// One packet in so many is spoilt, either way; 0: none.
	unsigned spoil = 0;
	// So many acknowledgements of ours to come are lost on the way.
	unsigned lost = 0;
	uint64_t chance = 1;
	// A control transfer: its answer, or the data to send, in `data`.
	Result result = DONE;
	std::vector<uint8_t> data;
	// Counted, for figures and checks; turnaround in steps from the end of our packet to the device's.
	uint64_t frames = 0, naks = 0, retries = 0, spoilt = 0, empty = 0, packets_out = 0, packets_in = 0;
	unsigned turnaround_min = ~0u, turnaround_max = 0;
	uint64_t last_byte = 0, now = 0;
	std::string error;

	void fail(const std::string &what) {
		if (error.empty()) error = "USB host: " + what;
	}

	// Both lines low for so many bits; the pipes start anew.
	void reset(uint64_t bits) {
		resetting = bits * STEPS, state = REST, address = 0, polls = false, out_toggle = in_toggle = 0, rest = 0;
		drives = false, result = DONE, turn_in = false, out.clear(), in.clear();
	}

	void clear_toggles() { out_toggle = in_toggle = 0; }

	void control(const uint8_t *request, const uint8_t *payload, unsigned size) {
		setup.assign(request, request + 8);
		reads = request[0] & 0x80, length = request[6] | request[7] << 8;
		data.assign(payload, payload + size);
		if (reads) data.clear();
		stage = SETUP, at = 0, control_toggle = 1, result = PENDING, errors = 0;
	}

	bool idle() const { return state == REST && result != PENDING && out.empty(); }

	// One cycle; `wires` is what both ends together make of them, `device` whether the other end drives.
	void step(UsbLevel wires, bool device) {
		now++;
		if (drives && device) fail("both ends drive the wires");
		if (resetting) {
			drives = --resetting != 0, level = USB_SE0;
			phase = 0;
			return;
		}
		phase++;
		switch (state) {
		case REST:
			drives = false;
			decide();
			break;
		case SEND:
			if (rest) rest--;
			else if (sent == levels.size() * STEPS) {
				drives = false, level = USB_J;
				sent_all();
			} else drives = true, level = levels[sent++ / STEPS];
			break;
		case LISTEN:
			listen(wires);
			break;
		}
	}

private:
	enum { REST, SEND, LISTEN } state = REST;
	enum { SETUP, DATA, STATUS } stage = SETUP;
	enum { SOF, TOKEN, PAYLOAD, ACKNOWLEDGE } sending = SOF;
	enum { CONTROL, BULK_IN, BULK_OUT } pipe = CONTROL;
	uint64_t resetting = 0, rest = 0, phase = 0, sent = 0, asks_again = 0;      // phase: steps of this frame
	std::vector<UsbLevel> levels;
	std::vector<uint8_t> setup, payload;
	bool reads = false, turn_in = false, is_in = false, started = false;
	unsigned length = 0, at = 0, errors = 0, waited = 0, since = 0, frame = 0;
	uint8_t out_toggle = 0, in_toggle = 0, control_toggle = 1, token = 0, toggle = 0;
	UsbReceiver receiver;

	unsigned draw(unsigned below) {
		chance ^= chance << 13, chance ^= chance >> 7, chance ^= chance << 17;
		return unsigned(chance % below);
	}

	void send(std::vector<uint8_t> packet) {
		if (spoil && sending != SOF && !draw(spoil)) packet[draw(packet.size())] ^= 1 << draw(8), spoilt++;
		levels = usb_levels(packet);
		state = SEND, sent = 0, rest = gap * STEPS;
	}

	void decide() {
		if (phase >= uint64_t(FRAME) * STEPS) {
			phase -= uint64_t(FRAME) * STEPS;
			frame = (frame + 1) & 0x7FF, frames++;
			sending = SOF;
			return send(usb_token(USB_SOF, frame & 0x7F, frame >> 7));
		}
		if (phase + ROOM * STEPS > uint64_t(FRAME) * STEPS) return;
		if (result == PENDING) return control_transaction();
		// In turns, so that neither direction starves the other.
		bool can_send = !out.empty();
		if (!can_send && !polls) return;
		pipe = polls && ((turn_in && now >= asks_again) || !can_send) ? BULK_IN : BULK_OUT;
		turn_in = pipe == BULK_OUT;
		if (pipe == BULK_OUT) {
			unsigned size = out.size() < PACKET ? out.size() : PACKET;
			payload.assign(out.begin(), out.begin() + size);
			begin(USB_OUT, BULK, out_toggle);
		} else begin(USB_IN, BULK, in_toggle);
	}

	void control_transaction() {
		pipe = CONTROL;
		if (stage == SETUP) {
			payload = setup;
			begin(USB_SETUP, 0, 0);
		} else if (stage == DATA && !reads) {
			unsigned left = data.size() - at, size = left < PACKET ? left : PACKET;
			payload.assign(data.begin() + at, data.begin() + at + size);
			begin(USB_OUT, 0, control_toggle);
		} else if (stage == DATA) begin(USB_IN, 0, control_toggle);
		else if (reads && length) payload.clear(), begin(USB_OUT, 0, 1);
		else begin(USB_IN, 0, 1);
	}

	void begin(uint8_t pid, unsigned endpoint, uint8_t data_toggle) {
		token = pid, toggle = data_toggle, is_in = pid == USB_IN, sending = TOKEN;
		send(usb_token(pid, address, endpoint));
	}

	void sent_all() {
		if (sending == SOF) return finish();
		if (sending == ACKNOWLEDGE) return finish();
		if (sending == TOKEN && !is_in) {
			sending = PAYLOAD;
			return send(usb_data(toggle ? USB_DATA1 : USB_DATA0, payload));
		}
		state = LISTEN, waited = 0, started = false;
		receiver.restart();
	}

	void listen(UsbLevel wires) {
		if (!started) {
			// The J of our end of packet lies behind us already; times count from its beginning.
			if (++waited > (TIMEOUT - 1) * STEPS) return answered(false);
			if (wires != USB_K) return;
			started = true;
			waited += STEPS;
			if (waited < turnaround_min) turnaround_min = waited;
			if (waited > turnaround_max) turnaround_max = waited;
			waited = 0;
		}
		if (++waited > 1000 * STEPS) return fail("the device's packet does not end");
		if (receiver.step(wires)) answered(true);
	}

	void finish() { state = REST; }

	void again() {
		retries++;
		if (pipe == CONTROL && ++errors > 20) result = FAILED;
		finish();
	}

	void answered(bool any) {
		std::vector<uint8_t> &packet = receiver.packet;
		if (any && spoil && !packet.empty() && !draw(spoil)) packet[draw(packet.size())] ^= 1 << draw(8), spoilt++;
		if (!any || !receiver.good || packet.empty() || (packet[0] & 15) != (~packet[0] >> 4 & 15)) {
			if (any && !spoil) {
				std::string text = "a damaged packet of the device";
				for (uint8_t byte : packet) text += " " + std::to_string(byte);
				fail(receiver.good ? text : text + ", broken off or wrongly stuffed");
			}
			return again();
		}
		uint8_t pid = packet[0] & 15;
		if (pid == USB_NAK) {
			naks++;
			if (pipe == BULK_IN) asks_again = now + uint64_t(nak_rest) * STEPS;
			return finish();
		}
		if (pid == USB_STALL) {
			if (pipe != CONTROL) fail("the device stalls a bulk endpoint");
			result = STALLED;
			return finish();
		}
		if (is_in) {
			if ((pid != USB_DATA0 && pid != USB_DATA1) || !usb_data_good(packet)) {
				if (!spoil) fail("a data packet with a wrong CRC");
				return again();
			}
			// A repeat of what has come already is acknowledged again, and dropped.
			if ((pid == USB_DATA1) == (toggle != 0)) taken(std::vector<uint8_t>(packet.begin() + 1, packet.end() - 2));
			else if (!spoil) fail("a data packet with the wrong toggle");
			sending = ACKNOWLEDGE;
			if (lost && lost--) return finish();
			return send({usb_pid(USB_ACK)});
		}
		if (pid != USB_ACK) {
			if (!spoil) fail("an answer that is none");
			return again();
		}
		given();
		finish();
	}

	// The device's data packet.
	void taken(const std::vector<uint8_t> &bytes) {
		packets_in++;
		if (bytes.size() > PACKET) fail("a packet longer than its endpoint's");
		if (pipe == BULK_IN) {
			in_toggle ^= 1, last_byte = now, empty += bytes.empty();
			in.insert(in.end(), bytes.begin(), bytes.end());
		} else if (stage == STATUS) {
			if (!bytes.empty()) fail("a status stage with data");
			result = DONE;
		} else {
			control_toggle ^= 1;
			data.insert(data.end(), bytes.begin(), bytes.end());
			if (data.size() > length) fail("more data than were asked for");
			if (bytes.size() < PACKET || data.size() >= length) stage = STATUS;
		}
	}

	// The device acknowledged our packet.
	void given() {
		packets_out++;
		if (pipe == BULK_OUT) out_toggle ^= 1, out.erase(out.begin(), out.begin() + payload.size());
		else if (stage == SETUP) stage = length ? DATA : STATUS;
		else if (stage == DATA) {
			control_toggle ^= 1, at += payload.size();
			if (at >= data.size()) stage = STATUS;
		} else result = DONE;
	}
};

} // namespace quintet
