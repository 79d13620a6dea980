// A board (rtl/barrier/src/hb_board.v) or a card as a device. Its registers are reached over SPI, by the kernel's
// character device or a parallel port, or memory-mapped by UIO. Its wires are each node's own (hotlink_wires.h).
//
//   barrier-serve-board --device spi:/dev/spidev0.0|port:0x378|uio:/dev/uio0 --nodes N [the other options of the daemon]
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
class Frames : public Board {
public:
    uint32_t read(uint32_t address) override { return frame(false, address, 0); }
    void write(uint32_t address, uint32_t data) override { frame(true, address, data); }

protected:
    static constexpr size_t BYTES = 6;
    virtual void exchange(const uint8_t (&out)[BYTES], uint8_t (&in)[BYTES]) = 0;

private:
    uint32_t frame(bool write, uint32_t address, uint32_t data) {
        const uint8_t out[BYTES] = {static_cast<uint8_t>((write ? 0x80 : 0) | (address >> 8 & 0xf)), static_cast<uint8_t>(address),
                                    static_cast<uint8_t>(data >> 24), static_cast<uint8_t>(data >> 16),
                                    static_cast<uint8_t>(data >> 8), static_cast<uint8_t>(data)};
        uint8_t in[BYTES] = {};
        exchange(out, in);
        return static_cast<uint32_t>(in[2]) << 24 | static_cast<uint32_t>(in[3]) << 16 | static_cast<uint32_t>(in[4]) << 8 | in[5];
    }
};

class Spi : public Frames {
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

private:
    void exchange(const uint8_t (&out)[BYTES], uint8_t (&in)[BYTES]) override {
        spi_ioc_transfer transfer{};
        transfer.tx_buf = reinterpret_cast<uintptr_t>(out);
        transfer.rx_buf = reinterpret_cast<uintptr_t>(in);
        transfer.len = sizeof out;
        transfer.speed_hz = SCK_HZ;
        transfer.bits_per_word = 8;
        if (ioctl(file, SPI_IOC_MESSAGE(1), &transfer) < 0) error = errno;
    }
    int file;
};

#if defined(__x86_64__) || defined(__i386__)
// The same frames, bit by bit, for a PC that has nothing but its parallel port. They go over the control register (cs_n
// is pin 16, sck pin 14, mosi pin 1; the port inverts the last two). The answer comes on one line of the status
// register (miso is pin 12). The node's own wires are in the data register, which another process may write at any
// time.
class Parallel : public Frames {
public:
    explicit Parallel(const char *words) {
        char *end;
        const unsigned long at = std::strtoul(words, &end, 0);
        base = static_cast<unsigned short>(at);
        error = end == words || *end || at > 0xfff0 ? EINVAL : hlb_port_take(base);
        if (!error) show(true, false, false);
    }

private:
    static constexpr unsigned INIT = 4, NOT_AUTOFEED = 2, NOT_STROBE = 1, PAPER_END = 5;

    // Half a period of sck later.
    void show(bool cs_n, bool sck, bool mosi) {
        const uint64_t begin = hlb_now_ns();
        outb(static_cast<unsigned char>((cs_n ? INIT : 0) | (sck ? 0 : NOT_AUTOFEED) | (mosi ? 0 : NOT_STROBE)),
             static_cast<unsigned short>(base + 2));
        while (hlb_now_ns() - begin < 500000000u / SCK_HZ) HLB_PAUSE();
    }
    void exchange(const uint8_t (&out)[BYTES], uint8_t (&in)[BYTES]) override {
        for (size_t k = 0; k < 8 * BYTES; k++) {
            const bool mosi = out[k / 8] >> (7 - k % 8) & 1;
            show(false, false, mosi);
            show(false, true, mosi);
            const unsigned miso = static_cast<unsigned>(inb(static_cast<unsigned short>(base + 1))) >> PAPER_END & 1u;
            in[k / 8] = static_cast<uint8_t>(in[k / 8] << 1 | miso);
        }
        show(false, false, false);
        show(true, false, false);
    }
    unsigned short base;
};
#else
struct Parallel : Board {
    explicit Parallel(const char *) { error = ENOSYS; }
    uint32_t read(uint32_t) override { return 0; }
    void write(uint32_t, uint32_t) override {}
};
#endif

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
    const std::string device = options.device ? options.device : "", kind = device.substr(0, device.find(':'));
    std::unique_ptr<Board> opened;
    if (kind.size() == device.size()) return Options::usage("--device must be spi:PATH, port:BASE or uio:PATH", HLB_PORTS);
    options.device += kind.size() + 1;
    if (kind == "spi") opened = std::make_unique<Spi>(options.device);
    else if (kind == "port") opened = std::make_unique<Parallel>(options.device);
    else if (kind == "uio") opened = std::make_unique<Card>(options.device);
    else return Options::usage("--device must be spi:PATH, port:BASE or uio:PATH", HLB_PORTS);
    Board &board = *opened;
    if (board.error == EPERM) return std::fprintf(stderr, "barrier-serve: %s: %s\n", options.device, hlb_error(EPERM)), 1;
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
    std::snprintf(facts.name, sizeof facts.name, "%s", kind.c_str());
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
