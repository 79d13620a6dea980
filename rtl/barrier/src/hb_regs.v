// The host's register file, on a synchronous word bus. A write is taken at the clock edge with bus_valid and bus_write
// high; a read answers in the clock after bus_valid. One barrier is one write (TOGGLE) and at least one read (STATUS):
// H06's toggle-write-read schema, tb = ow + op(P) + or (slide 22).
//
// word address      access  meaning
// 0x000 ID          r       0x48423031 ("HB01")
// 0x001 CONFIG      r       [15:0] P, [23:16] B, [24] root, [25] start-up guard present
// 0x002 STATUS      r       bit b: the released level of barrier b
// 0x003 UP          r       bit b: all members below have arrived (differs from STATUS while a parent is awaited)
// 0x004 IRQ_STATUS  r/w1c   bit b: barrier b was released
// 0x005 IRQ_ENABLE  r/w     bit b: a release of b raises the interrupt line
// 0x100+p TOGGLE    r/w     write 1 to bit b: rank p arrives at barrier b; read: the rank's own levels
// 0x200+8b+w GROUP  r/w     members of barrier b, ports 32w..32w+31; writing starts the barrier anew (disarms it)
// 0x300+8b+w ARMED  r       ports of barrier b that the start-up guard has admitted
`default_nettype none
module hb_regs #(
    parameter P = 4,                  // at most 256
    parameter B = 1,                  // at most 32
    parameter ROOT = 1,
    parameter ARM = 1,
    parameter [P-1:0] BUS_PORTS = 0   // 1: the port's levels come from TOGGLE, 0: from its pins
) (
    input  wire           clk,
    input  wire           rst,
    input  wire           bus_valid,
    input  wire           bus_write,
    input  wire [11:0]    bus_addr,
    input  wire [31:0]    bus_wdata,
    output wire [31:0]    bus_rdata,
    input  wire [B-1:0]   up,
    input  wire [B-1:0]   down,
    input  wire [B*P-1:0] armed,
    input  wire [B-1:0]   irq_status,
    output wire [B-1:0]   irq_clear,
    output wire [B-1:0]   irq_enable,
    output wire [B-1:0]   start,
    output wire [B*P-1:0] member,
    output wire [B*P-1:0] bus_level
);
    localparam [31:0] ID = 32'h48423031;
    localparam [31:0] CONFIG = (ARM != 0 ? 32'h02000000 : 0) | (ROOT != 0 ? 32'h01000000 : 0) | B << 16 | P;
    localparam WORDS = (P + 31) / 32;

    wire write = bus_valid & bus_write;
    reg [B-1:0] irq_enable_reg = {B{1'b0}};
    reg [B-1:0] start_reg = {B{1'b0}};
    reg [B*P-1:0] member_reg = {B * P{1'b0}};
    reg [B*P-1:0] level_reg = {B * P{1'b0}};

    assign irq_clear = write && bus_addr == 12'h004 ? bus_wdata[B-1:0] : {B{1'b0}};
    assign irq_enable = irq_enable_reg;
    assign start = start_reg;
    assign member = member_reg;
    assign bus_level = level_reg;

    integer b, p;
    always @(posedge clk) begin
        if (write && bus_addr == 12'h005) irq_enable_reg <= bus_wdata[B-1:0];
        start_reg <= {B{1'b0}};
        for (b = 0; b < B; b = b + 1)
            for (p = 0; p < P; p = p + 1) begin
                if (write && bus_addr == 12'h200 + 8 * b[11:0] + {5'd0, p[11:5]}) begin
                    member_reg[b*P+p] <= bus_wdata[p[4:0]];
                    start_reg[b] <= 1'b1;
                end
                if (BUS_PORTS[p]) begin
                    if (start_reg[b]) level_reg[b*P+p] <= down[b];
                    else if (write && bus_addr == 12'h100 + p[11:0])
                        level_reg[b*P+p] <= level_reg[b*P+p] ^ bus_wdata[b[4:0]];
                end
            end
        if (rst) begin
            irq_enable_reg <= {B{1'b0}};
            start_reg <= {B{1'b0}};
            member_reg <= {B * P{1'b0}};
            level_reg <= {B * P{1'b0}};
        end
    end

    // Reads: the word addressed, one clock later.
    reg [31:0] rdata_next;
    reg [31:0] rdata_reg = 32'd0;
    integer rb, rw, rp;
    always @* begin
        rdata_next = 32'd0;
        case (bus_addr)
            12'h000: rdata_next = ID;
            12'h001: rdata_next = CONFIG;
            12'h002: rdata_next[B-1:0] = down;
            12'h003: rdata_next[B-1:0] = up;
            12'h004: rdata_next[B-1:0] = irq_status;
            12'h005: rdata_next[B-1:0] = irq_enable_reg;
            default: begin
                for (rb = 0; rb < B; rb = rb + 1) begin
                    for (rw = 0; rw < WORDS; rw = rw + 1)
                        for (rp = 0; rp < 32 && 32 * rw + rp < P; rp = rp + 1) begin
                            if (bus_addr == 12'h200 + 8 * rb[11:0] + rw[11:0])
                                rdata_next[rp] = member_reg[rb*P+32*rw+rp];
                            if (bus_addr == 12'h300 + 8 * rb[11:0] + rw[11:0])
                                rdata_next[rp] = armed[rb*P+32*rw+rp];
                        end
                    for (rp = 0; rp < P; rp = rp + 1)
                        if (BUS_PORTS[rp] && bus_addr == 12'h100 + rp[11:0])
                            rdata_next[rb] = level_reg[rb*P+rp];
                end
            end
        endcase
    end
    always @(posedge clk) rdata_reg <= rdata_next;
    assign bus_rdata = rdata_reg;
endmodule
`default_nettype wire
