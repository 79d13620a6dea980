// The concrete link (synchroniser and glitch filter). A level that stays put for STAGES + SAMPLES clocks is at the
// output, and nothing shorter than SAMPLES clocks ever is.
module f_wire #(parameter STAGES = 2, parameter SAMPLES = 3) (input wire clk);
    (* anyseq *) wire in;
    wire out;
    hb_link #(.W(1), .STAGES(STAGES), .SAMPLES(SAMPLES)) stale_node (.clk(clk), .async_in(in), .out(out));

    localparam N = STAGES + SAMPLES;
    reg [N-1:0] past;  // past[k]: the input k+1 clocks ago
    reg was_out;
    reg [4:0] age = 5'd0;
    wire known = age > N;
    always @(posedge clk) begin
        past <= {past[N-2:0], in};
        was_out <= out;
        if (!known) age <= age + 5'd1;
    end
    wire [N-1:0] same = ~(past ^ {N{out}});
    always @* if (known) begin
        if (past == {N{1'b1}}) assert (out);
        if (past == {N{1'b0}}) assert (!out);
        if (out != was_out) assert (&same[N-1-:SAMPLES]);
    end
`ifdef COVER
    always @* assert (!(known && out && !was_out));
`endif
endmodule
