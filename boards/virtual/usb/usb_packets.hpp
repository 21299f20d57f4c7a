// SPDX-License-Identifier: BSD-2-Clause
// Packets of USB as bytes and as levels of D+ and D-: CRCs, bit stuffing, NRZI, SYNC and end of packet (USB 2.0, 7.1 and 8.3).
#pragma once
#include <cstdint>
#include <vector>

namespace quintet {

enum UsbLevel : uint8_t { USB_SE0 = 0, USB_J = 1, USB_K = 2, USB_SE1 = 3 };      // bit 0 is D+, bit 1 D-
enum UsbPid : uint8_t {
	USB_OUT = 1, USB_ACK = 2, USB_DATA0 = 3, USB_SOF = 5, USB_IN = 9, USB_NAK = 10, USB_DATA1 = 11, USB_SETUP = 13, USB_STALL = 14
};

inline uint8_t usb_pid(uint8_t pid) { return pid | (~pid & 15) << 4; }

// Of `count` bits, the lowest first; the result stands with its first bit lowest, as it is sent.
inline unsigned usb_crc(unsigned width, unsigned polynomial, const uint8_t *bytes, unsigned count) {
	unsigned crc = (1u << width) - 1, top = 1u << (width - 1), result = 0;
	for (unsigned i = 0; i < count; i++) {
		bool feedback = (bytes[i / 8] >> i % 8 & 1) != ((crc & top) != 0);
		crc = (crc << 1 ^ (feedback ? polynomial : 0)) & ((1u << width) - 1);
	}
	for (unsigned i = 0; i < width; i++) result |= (~crc >> (width - 1 - i) & 1) << i;
	return result;
}

inline std::vector<uint8_t> usb_token(uint8_t pid, unsigned address, unsigned endpoint) {
	unsigned bits = address | endpoint << 7;
	uint8_t bytes[2] = {uint8_t(bits), uint8_t(bits >> 8)};
	bits |= usb_crc(5, 0x05, bytes, 11) << 11;
	return {usb_pid(pid), uint8_t(bits), uint8_t(bits >> 8)};
}

inline std::vector<uint8_t> usb_data(uint8_t pid, const std::vector<uint8_t> &payload) {
	std::vector<uint8_t> packet{usb_pid(pid)};
	packet.insert(packet.end(), payload.begin(), payload.end());
	unsigned crc = usb_crc(16, 0x8005, payload.data(), payload.size() * 8);
	packet.push_back(uint8_t(crc)), packet.push_back(uint8_t(crc >> 8));
	return packet;
}

inline bool usb_data_good(const std::vector<uint8_t> &packet) {
	if (packet.size() < 3) return false;
	unsigned size = packet.size();
	return usb_crc(16, 0x8005, packet.data() + 1, (size - 3) * 8) == unsigned(packet[size - 2] | packet[size - 1] << 8);
}

// One level a bit, from the first of SYNC to the J behind the end.
inline std::vector<UsbLevel> usb_levels(const std::vector<uint8_t> &packet) {
	std::vector<UsbLevel> levels;
	UsbLevel level = USB_J;
	unsigned ones = 0;
	auto bit = [&](bool value) {
		if (!value) level = level == USB_J ? USB_K : USB_J;
		levels.push_back(level);
		ones = value ? ones + 1 : 0;
	};
	auto byte = [&](uint8_t value) {
		for (int i = 0; i < 8; i++) {
			bit(value >> i & 1);
			if (ones == 6) bit(false);
		}
	};
	byte(0x80);
	for (uint8_t value : packet) byte(value);
	levels.push_back(USB_SE0), levels.push_back(USB_SE0), levels.push_back(USB_J);
	return levels;
}

// Recovers bits from levels at four steps a bit: every change sets the phase, a bit is taken in its middle.
struct UsbReceiver {
	std::vector<uint8_t> packet;
	bool good = false;

	void restart() {
		packet.clear(), good = true, before = USB_J, bit_before = USB_J, phase = 0, ones = 0, count = 0, synchronised = false;
		ended = false, shift = 0;
	}

	// True at the end of a packet.
	bool step(UsbLevel level) {
		if (level != before) phase = 0;
		before = level;
		if (phase++ % 4 != 1) return false;
		if (level == USB_SE0) {
			ended = true;
			return false;
		}
		if (ended) {
			if (!synchronised || count % 8 || level != USB_J) good = false;
			return true;
		}
		bool bit = level == bit_before;
		bit_before = level;
		if (ones == 6) {
			// A stuffed bit is a zero.
			if (bit) good = false;
			ones = 0;
			return false;
		}
		ones = bit ? ones + 1 : 0;
		shift = uint8_t(shift >> 1 | bit << 7);
		if (!synchronised) {
			if (shift == 0x80) synchronised = true;
			return false;
		}
		if (++count % 8 == 0) packet.push_back(shift);
		return false;
	}

private:
	UsbLevel before = USB_J, bit_before = USB_J;
	unsigned phase = 0, ones = 0, count = 0;
	bool synchronised = false, ended = false;
	uint8_t shift = 0;
};

} // namespace quintet
