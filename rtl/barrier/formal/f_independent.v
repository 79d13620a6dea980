// Two devices agree in all that concerns barrier 0 (pins, group writes, its bit of the toggles) and differ arbitrarily
// in the rest. They never differ in barrier 0: barriers are independent of one another.
module f_independent #(parameter P = 3, parameter ROOT = 0) (input wire clk);
    (* anyseq *) wire [P-1:0] pin;
    (* anyseq *) wire [P-1:0] other_pin_a, other_pin_b;
    (* anyseq *) wire [1:0] parent_a, parent_b;
    (* anyseq *) wire rst, valid_a, valid_b, write_a, write_b;
    (* anyseq *) wire [11:0] addr_a, addr_b;
    (* anyseq *) wire [31:0] data_a, data_b;
    wire [1:0] out_a, out_b, up_a, up_b;

    hb_device #(.P(P), .B(2), .ROOT(ROOT), .STAGES(1), .SAMPLES(2), .BUS_PORTS(1)) device_a (
        .clk(clk), .rst(rst), .pin_in({other_pin_a, pin}), .pin_out(out_a), .up_out(up_a), .down_in(parent_a),
        .bus_valid(valid_a), .bus_write(write_a), .bus_addr(addr_a), .bus_wdata(data_a), .bus_rdata(), .irq()
    );
    hb_device #(.P(P), .B(2), .ROOT(ROOT), .STAGES(1), .SAMPLES(2), .BUS_PORTS(1)) device_b (
        .clk(clk), .rst(rst), .pin_in({other_pin_b, pin}), .pin_out(out_b), .up_out(up_b), .down_in(parent_b),
        .bus_valid(valid_b), .bus_write(write_b), .bus_addr(addr_b), .bus_wdata(data_b), .bus_rdata(), .irq()
    );

    // What concerns barrier 0: its group word, and bit 0 of a toggle.
    wire group_a = valid_a && write_a && addr_a[11:3] == 9'h040;
    wire group_b = valid_b && write_b && addr_b[11:3] == 9'h040;
    wire toggle_a = valid_a && write_a && addr_a[11:8] == 4'h1 && data_a[0];
    wire toggle_b = valid_b && write_b && addr_b[11:8] == 4'h1 && data_b[0];
    always @* begin
        assume (parent_a[0] == parent_b[0]);
        assume (group_a == group_b && toggle_a == toggle_b);
        if (group_a) assume (addr_a == addr_b && data_a == data_b);
        if (toggle_a) assume (addr_a == addr_b);
        assert (out_a[0] == out_b[0]);
        assert (up_a[0] == up_b[0]);
    end
`ifdef COVER
    always @* assert (!(up_a[0] && up_a[1] && !up_b[1]));
`endif
endmodule
