// A board (rtl/barrier/src/hb_board.v) or a card as a device: its registers over SPI by the kernel's character device, or
// memory-mapped by UIO; its wires each node's own (hotlink_wires.h).
//
//   barrier-serve-board --device spi:/dev/spidev0.0|uio:/dev/uio0 --nodes N [the other options of the daemon]
#include "daemon.hpp"

#include <fcntl.h>
#include <linux/spi/spidev.h>
#include <memory>
#include <sys/ioctl.h>

namespace {

constexpr uint32_t SCK_HZ = 1000000;  // at most an eighth of the board's clock: 12 MHz is the slowest usual one
constexpr uint32_t ID = 0x48423031;

struct Board : Registers {
    int error = 0; // of the file, or of the last access
};

// One frame of 48 bits an access, most significant first: write, three zeros, 12 address bits, 32 data bits.
class Spi : public Board {
public:
    explicit Spi(const char *path) : file(open(path, O_RDWR | O_CLOEXEC)) {
        uint8_t mode = SPI_MODE_0, bits = 8;
        uint32_t hz = SCK_HZ;
        if (file < 0 || ioctl(file, SPI_IOC_WR_MODE, &mode) != 0 || ioctl(file, SPI_IOC_WR_BITS_PER_WORD, &bits) != 0
            || ioctl(file, SPI_IOC_WR_MAX_SPEED_HZ, &hz) != 0) error = errno;
    }
    ~Spi() override {
        if (file >= 0) close(file);
    }
    uint32_t read(uint32_t address) override { return frame(false, address, 0); }
    void write(uint32_t address, uint32_t data) override { frame(true, address, data); }

private:
    uint32_t frame(bool write, uint32_t address, uint32_t data) {
        const uint8_t out[6] = {static_cast<uint8_t>((write ? 0x80 : 0) | (address >> 8 & 0xf)), static_cast<uint8_t>(address),
                                static_cast<uint8_t>(data >> 24), static_cast<uint8_t>(data >> 16),
                                static_cast<uint8_t>(data >> 8), static_cast<uint8_t>(data)};
        uint8_t in[6] = {};
        spi_ioc_transfer transfer{};
        transfer.tx_buf = reinterpret_cast<uintptr_t>(out);
        transfer.rx_buf = reinterpret_cast<uintptr_t>(in);
        transfer.len = sizeof out;
        transfer.speed_hz = SCK_HZ;
        transfer.bits_per_word = 8;
        if (ioctl(file, SPI_IOC_MESSAGE(1), &transfer) < 0) error = errno;
        return static_cast<uint32_t>(in[2]) << 24 | static_cast<uint32_t>(in[3]) << 16 | static_cast<uint32_t>(in[4]) << 8 | in[5];
    }
    int file;
};

class Card : public Board {
public:
    explicit Card(const char *path) {
        const int file = open(path, O_RDWR | O_CLOEXEC);
        if (file < 0 || !(registers = hlb_card_map(file))) error = errno;
        if (file >= 0) close(file);
    }
    ~Card() override {
        if (registers) munmap(const_cast<uint32_t *>(registers), HLB_CARD_BYTES);
    }
    uint32_t read(uint32_t address) override { return registers[address % (HLB_CARD_BYTES / 4)]; }
    void write(uint32_t address, uint32_t data) override { registers[address % (HLB_CARD_BYTES / 4)] = data; }

private:
    volatile uint32_t *registers = nullptr;
};

} // namespace

int main(int argc, char **argv) {
    Options options;
    if (const char *why = options.read(argc, argv, HLB_PORTS)) return Options::usage(why, HLB_PORTS);
    const std::string kind = options.device ? std::string(options.device).substr(0, 4) : "";
    if (kind != "spi:" && kind != "uio:") return Options::usage("--device must be spi:PATH or uio:PATH", HLB_PORTS);
    std::unique_ptr<Board> opened;
    options.device += kind.size();
    if (kind == "spi:") opened = std::make_unique<Spi>(options.device);
    else opened = std::make_unique<Card>(options.device);
    Board &board = *opened;
    if (board.error) return failed(options.device, board.error);
    const uint32_t id = board.read(Registers::ID), config = board.read(Registers::CONFIG);
    if (board.error) return failed(options.device, board.error);
    const uint32_t ports = config & 0xffff, groups = config >> 16 & 0xff;
    if (id != ID) {
        std::fprintf(stderr, "barrier-serve: %s: ID reads %#x, a barrier's is %#x: wiring, clock or another board?\n", options.device, id, ID);
        return 1;
    }
    if (!(config >> 25 & 1) || static_cast<uint32_t>(options.nodes) > ports) {
        std::fprintf(stderr, "barrier-serve: %s: a board of %u ports, %s a start-up guard, for %ld nodes\n", options.device, ports,
                     config >> 25 & 1 ? "with" : "without", options.nodes);
        return 1;
    }
    // The board's clock is not in its registers: what a barrier takes there is not known here.
    hlb_facts facts{"", HLB_VERSION, static_cast<uint32_t>(options.nodes), groups < HLB_GROUPS ? groups : HLB_GROUPS,
                    static_cast<uint32_t>(options.each), 0, 0};
    std::snprintf(facts.name, sizeof facts.name, "%.3s", kind.c_str());
    end_on_signals();
    Daemon daemon(board, facts, -1);
    if (int error = daemon.listen_at(options.path)) return failed(options.path ? options.path : "socket", error);
    if (options.standing) daemon.stand(static_cast<uint32_t>(options.nodes));
    if (!options.quiet) std::printf("barrier device: board of %u ports and %u groups at %s\n", ports, groups, daemon.path());
    std::fflush(stdout);
    for (uint64_t begin = hlb_now_ns(); !ended && !board.error && !(options.seconds && hlb_now_ns() - begin > options.limit_ns());)
        daemon.turn(200);
    return board.error ? failed(options.device, board.error) : 0;
}
