// One barrier device with P ports and B independent barriers, each with its own member mask. A port is a wire pair
// (pins) or a host on the register bus. An uplink serves trees of devices, and there is an interrupt line.
`default_nettype none
module hb_device #(
    parameter P = 4,
    parameter B = 1,
    parameter ROOT = 1,
    parameter ARM = 1,
    parameter STAGES = 2,             // synchroniser flip-flops
    parameter SAMPLES = 3,            // equal samples that make a level
    parameter [P-1:0] BUS_PORTS = 0
) (
    input  wire           clk,
    input  wire           rst,
    // children: their levels in (barrier b, port p at b*P+p), the released level of each barrier out, wired to all
    input  wire [B*P-1:0] pin_in,
    output wire [B-1:0]   pin_out,
    // parent device (a root leaves up_out open and down_in at 0)
    output wire [B-1:0]   up_out,
    input  wire [B-1:0]   down_in,
    // host bus
    input  wire           bus_valid,
    input  wire           bus_write,
    input  wire [11:0]    bus_addr,
    input  wire [31:0]    bus_wdata,
    output wire [31:0]    bus_rdata,
    output wire           irq
);
    wire [B*P-1:0] pin_level, bus_level, level, member, armed;
    wire [B-1:0] start, up, down, parent_down, irq_status, irq_clear, irq_enable;
    localparam [B*P-1:0] FROM_BUS = {B{BUS_PORTS}};

    hb_link #(.W(B * P), .STAGES(STAGES), .SAMPLES(SAMPLES)) children_inst (
        .clk(clk), .async_in(pin_in), .out(pin_level)
    );
    hb_link #(.W(B), .STAGES(STAGES), .SAMPLES(SAMPLES)) parent_inst (
        .clk(clk), .async_in(down_in), .out(parent_down)
    );
    assign level = (FROM_BUS & bus_level) | (~FROM_BUS & pin_level);

    genvar g;
    generate
        for (g = 0; g < B; g = g + 1) begin : g_barrier
            hb_node #(.P(P), .ROOT(ROOT), .ARM(ARM)) node_inst (
                .clk(clk), .rst(rst), .start(start[g]), .member(member[g*P+:P]), .level(level[g*P+:P]),
                .down_in(parent_down[g]), .up(up[g]), .down(down[g]), .armed(armed[g*P+:P])
            );
        end
    endgenerate

    hb_irq #(.B(B)) irq_inst (
        .clk(clk), .rst(rst), .down(down), .clear(irq_clear), .enable(irq_enable), .status(irq_status), .irq(irq)
    );

    hb_regs #(.P(P), .B(B), .ROOT(ROOT), .ARM(ARM), .BUS_PORTS(BUS_PORTS)) regs_inst (
        .clk(clk), .rst(rst), .bus_valid(bus_valid), .bus_write(bus_write), .bus_addr(bus_addr),
        .bus_wdata(bus_wdata), .bus_rdata(bus_rdata), .up(up), .down(down), .armed(armed), .irq_status(irq_status),
        .irq_clear(irq_clear), .irq_enable(irq_enable), .start(start), .member(member), .bus_level(bus_level)
    );

    assign pin_out = down;
    assign up_out = up;
endmodule
`default_nettype wire
