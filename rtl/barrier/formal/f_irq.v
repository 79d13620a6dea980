// Interrupts, from any state. A release sets its bit, and only its clearing or a reset removes it. A release in the
// clock of the clearing is not lost. The line follows the enabled bits. For any one barrier of B.
module f_irq #(parameter B = 32) (input wire clk);
    (* anyconst *) wire [4:0] b;
    (* anyseq *) wire rst;
    (* anyseq *) wire [B-1:0] down, clear, enable;
    wire [B-1:0] status;
    wire irq;
    hb_irq #(.B(B)) stale_irq (.clk(clk), .rst(rst), .down(down), .clear(clear), .enable(enable), .status(status), .irq(irq));
    reg [1:0] age = 2'd0;
    reg was_rst, was_clear, was_status;
    always @(posedge clk) begin
        if (age != 2'd2) age <= age + 2'd1;
        {was_rst, was_clear, was_status} <= {rst, clear[b], status[b]};
        last_down <= rst ? 1'b0 : down[b];
        was_release <= down[b] != last_down;
    end
    reg last_down;    // the level a clock ago; a reset counts as 0
    reg was_release;  // a clock ago the level was another than before
    always @* begin
        assume (b < B);
        assert (irq == |(status & enable));
        if (age != 2'd0 && was_rst) assert (!status[b]);
        if (age == 2'd2 && !was_rst) begin
            if (was_release) assert (status[b]);
            else assert (status[b] == (was_status && !was_clear));
        end
    end
`ifdef COVER
    always @* assert (!(age == 2'd2 && was_release && was_clear && irq));
`endif
endmodule
