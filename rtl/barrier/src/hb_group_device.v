// A device whose ports select one of 2**BITS groups by wires: hb_groups behind its register file, with an interrupt
// line. Each port has OUT, BITS wires that select its group, and an IN of its own. A host sets its select wires by the
// time its OUT moves and holds them until its IN has followed. OUT passes the glitch filter and the select wires do
// not, so that they are here SAMPLES clocks before the arrival.
//
// After a reset the INs stay where they are, and IRQ_STATUS shows those at 1: clear it before it is enabled.
`default_nettype none
module hb_group_device #(
    parameter P = 4,
    parameter BITS = 11,
    parameter STAGES = 2,
    parameter SAMPLES = 3
) (
    input  wire              clk,
    input  wire              rst,         // groups outlive it in memory: write them anew
    input  wire [P-1:0]      pin_in,      // OUT of each node
    input  wire [P*BITS-1:0] select_in,   // its group
    output wire [P-1:0]      pin_out,     // IN of each node
    input  wire              bus_valid,
    input  wire              bus_write,
    input  wire [11:0]       bus_addr,
    input  wire [31:0]       bus_wdata,
    output wire [31:0]       bus_rdata,
    output wire              irq
);
    wire [P-1:0] level, released, armed, irq_status, irq_clear, irq_enable, group_members;
    wire [P*BITS-1:0] select;
    wire [BITS-1:0] group_number;
    wire group_write, group_busy;

    hb_link #(.W(P), .STAGES(STAGES), .SAMPLES(SAMPLES)) out_inst (.clk(clk), .async_in(pin_in), .out(level));
    hb_sync #(.W(P * BITS), .STAGES(STAGES)) select_inst (.clk(clk), .async_in(select_in), .sync_out(select));

    hb_groups #(.P(P), .BITS(BITS)) groups_inst (
        .clk(clk), .rst(rst), .level(level), .select(select), .released(released), .armed(armed),
        .group_write(group_write), .group_number(group_number), .group_members(group_members), .group_busy(group_busy)
    );
    hb_irq #(.B(P)) irq_inst (
        .clk(clk), .rst(rst), .down(released), .clear(irq_clear), .enable(irq_enable), .status(irq_status), .irq(irq)
    );
    hb_group_regs #(.P(P), .BITS(BITS)) regs_inst (
        .clk(clk), .rst(rst), .bus_valid(bus_valid), .bus_write(bus_write), .bus_addr(bus_addr), .bus_wdata(bus_wdata),
        .bus_rdata(bus_rdata), .released(released), .armed(armed), .irq_status(irq_status), .irq_clear(irq_clear),
        .irq_enable(irq_enable), .group_write(group_write), .group_number(group_number),
        .group_members(group_members), .group_busy(group_busy)
    );

    assign pin_out = released;
endmodule
`default_nettype wire
