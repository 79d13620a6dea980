// The register file of hb_groups, on the same word bus as hb_regs. A write is taken at the clock edge with bus_valid
// and bus_write high; a read answers in the clock after bus_valid. Ports take the place that barriers have in hb_regs.
//
// word address      access  meaning
// 0x000 ID          r       0x48424731 ("HBG1")
// 0x001 CONFIG      r       [15:0] P, [23:16] BITS: there are 2**BITS groups
// 0x002 STATUS      r       bit p: what port p's IN shows
// 0x003 BUSY        r       bit 0: a group waits to be written; another write would be lost
// 0x004 IRQ_STATUS  r/w1c   bit p: port p was released
// 0x005 IRQ_ENABLE  r/w     bit p: a release of port p raises the interrupt line
// 0x300 ARMED       r       bit p: port p was seen at rest since a group of it was written
// 0x800+g GROUP     w       members of group g, bit p: port p; writing starts the group anew and disarms its members
`default_nettype none
module hb_group_regs #(
    parameter P = 4,                  // at most 32
    parameter BITS = 11               // at most 11
) (
    input  wire            clk,
    input  wire            rst,
    input  wire            bus_valid,
    input  wire            bus_write,
    input  wire [11:0]     bus_addr,
    input  wire [31:0]     bus_wdata,
    output wire [31:0]     bus_rdata,
    input  wire [P-1:0]    released,
    input  wire [P-1:0]    armed,
    input  wire [P-1:0]    irq_status,
    output wire [P-1:0]    irq_clear,
    output wire [P-1:0]    irq_enable,
    output wire            group_write,
    output wire [BITS-1:0] group_number,
    output wire [P-1:0]    group_members,
    input  wire            group_busy
);
    localparam [31:0] ID = 32'h48424731;
    localparam [31:0] CONFIG = BITS << 16 | P;

    wire write = bus_valid & bus_write;
    wire [31:0] unused_wdata = bus_wdata;
    reg [P-1:0] irq_enable_reg = {P{1'b0}};

    assign irq_clear = write && bus_addr == 12'h004 ? bus_wdata[P-1:0] : {P{1'b0}};
    assign irq_enable = irq_enable_reg;
    // A group that is not there is none: with fewer than 11 wires the addresses behind the last group do nothing.
    assign group_write = write && bus_addr[11] && bus_addr[10:0] >> BITS == 11'd0;
    assign group_number = bus_addr[BITS-1:0];
    assign group_members = bus_wdata[P-1:0];

    always @(posedge clk)
        if (rst) irq_enable_reg <= {P{1'b0}};
        else if (write && bus_addr == 12'h005) irq_enable_reg <= bus_wdata[P-1:0];

    // Reads: the word addressed, one clock later.
    reg [31:0] rdata_next;
    reg [31:0] rdata_reg;
    always @* begin
        rdata_next = 32'd0;
        case (bus_addr)
            12'h000: rdata_next = ID;
            12'h001: rdata_next = CONFIG;
            12'h002: rdata_next[P-1:0] = released;
            12'h003: rdata_next[0] = group_busy;
            12'h004: rdata_next[P-1:0] = irq_status;
            12'h005: rdata_next[P-1:0] = irq_enable_reg;
            12'h300: rdata_next[P-1:0] = armed;
            default: ;
        endcase
    end
    always @(posedge clk) rdata_reg <= rdata_next;
    assign bus_rdata = rdata_reg;
endmodule
`default_nettype wire
