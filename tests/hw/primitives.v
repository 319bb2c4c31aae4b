// Behaviour of the vendors' multiplier blocks, as far as rbdgen_hw.primitives uses them: registers on one clock that
// always runs, signed operands. For tests only.

module MULT18X18D(
    input A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0,
    input B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0,
    input SIGNEDA, SIGNEDB, SOURCEA, SOURCEB, CLK0, CE0, RST0,
    output P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18, P17, P16, P15,
    output P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0);
  parameter REG_INPUTA_CLK = "NONE", REG_INPUTA_CE = "CE0", REG_INPUTA_RST = "RST0";
  parameter REG_INPUTB_CLK = "NONE", REG_INPUTB_CE = "CE0", REG_INPUTB_RST = "RST0";
  parameter REG_PIPELINE_CLK = "NONE", REG_PIPELINE_CE = "CE0", REG_PIPELINE_RST = "RST0";
  parameter REG_OUTPUT_CLK = "NONE", REG_OUTPUT_CE = "CE0", REG_OUTPUT_RST = "RST0";
  parameter GSR = "ENABLED", RESETMODE = "SYNC";
  wire signed [17:0] a = {A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0};
  wire signed [17:0] b = {B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0};
  reg signed [17:0] a1, b1;
  reg signed [35:0] middle, last;
  wire signed [17:0] a2 = REG_INPUTA_CLK == "NONE" ? a : a1, b2 = REG_INPUTB_CLK == "NONE" ? b : b1;
  // unsigned operands have a zero before their first bit
  wire signed [18:0] a3 = {SIGNEDA & a2[17], a2}, b3 = {SIGNEDB & b2[17], b2};
  wire signed [37:0] whole = a3 * b3;
  wire [35:0] product = whole[35:0];
  wire [35:0] next = REG_PIPELINE_CLK == "NONE" ? product : middle;
  always @(posedge CLK0) begin
    if (CE0) begin a1 <= a; b1 <= b; middle <= product; last <= next; end
    if (RST0) begin a1 <= 0; b1 <= 0; middle <= 0; last <= 0; end
  end
  assign {P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18, P17, P16, P15, P14,
          P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0} = REG_OUTPUT_CLK == "NONE" ? next : last;
endmodule

module MULTALU27X18(
    output [47:0] DOUT, CASO, output [26:0] SOA, input [26:0] A, SIA, input [17:0] B, input [47:0] C, input [25:0] D,
    input [47:0] CASI, input ACCSEL, PSEL, ASEL, PADDSUB, CSEL, CASISEL, input [1:0] ADDSUB, CLK, CE, RESET);
  parameter AREG_CLK = "BYPASS", AREG_CE = "CE0", AREG_RESET = "RESET0";
  parameter BREG_CLK = "BYPASS", BREG_CE = "CE0", BREG_RESET = "RESET0";
  parameter PREG_CLK = "BYPASS", PREG_CE = "CE0", PREG_RESET = "RESET0";
  parameter OREG_CLK = "BYPASS", OREG_CE = "CE0", OREG_RESET = "RESET0";
  parameter MULT_RESET_MODE = "SYNC";
  parameter DYN_A_SEL = "FALSE", DYN_P_SEL = "FALSE", DYN_P_ADDSUB = "FALSE", DYN_C_SEL = "FALSE";
  parameter DYN_CASI_SEL = "FALSE", DYN_ACC_SEL = "FALSE", DYN_ADD_SUB_0 = "FALSE", DYN_ADD_SUB_1 = "FALSE";
  parameter A_SEL = 1'b0, P_SEL = 1'b0, P_ADDSUB = 1'b0, C_SEL = 1'b1, CASI_SEL = 1'b0, ACC_SEL = 1'b0;
  parameter ADD_SUB_0 = 1'b0, ADD_SUB_1 = 1'b0;
  reg signed [26:0] a1;
  reg signed [17:0] b1;
  reg signed [47:0] middle, last;
  wire signed [26:0] a2 = AREG_CLK == "BYPASS" ? A : a1;
  wire signed [17:0] b2 = BREG_CLK == "BYPASS" ? B : b1;
  wire signed [47:0] product = a2 * b2;
  wire signed [47:0] next = PREG_CLK == "BYPASS" ? product : middle;
  wire [47:0] sum = next + (C_SEL ? C : 48'd0) + (CASI_SEL ? CASI : 48'd0);
  always @(posedge CLK[0]) if (CE[0]) begin a1 <= A; b1 <= B; middle <= product; last <= sum; end
  assign DOUT = OREG_CLK == "BYPASS" ? sum : last;
endmodule

// Two bits of a carry chain. Each has a table of four inputs, of which the first two address its lowest four entries
// as well: where the table is low, they say whether a carry begins.
module CCU2C(
    input CIN, A0, B0, C0, D0, A1, B1, C1, D1,
    output S0, S1, COUT
);
  parameter INIT0 = 16'h0, INIT1 = 16'h0, INJECT1_0 = "YES", INJECT1_1 = "YES";
  // chosen bit by bit: an unknown input does not matter where both entries are the same
  wire [7:0] half0 = D0 ? INIT0[15:8] : INIT0[7:0];
  wire [7:0] half1 = D1 ? INIT1[15:8] : INIT1[7:0];
  wire [3:0] part0 = C0 ? half0[7:4] : half0[3:0];
  wire [3:0] part1 = C1 ? half1[7:4] : half1[3:0];
  wire [1:0] pair0 = B0 ? part0[3:2] : part0[1:0];
  wire [1:0] pair1 = B1 ? part1[3:2] : part1[1:0];
  wire low0 = A0 ? pair0[1] : pair0[0];
  wire low1 = A1 ? pair1[1] : pair1[0];
  wire [1:0] first0 = B0 ? INIT0[3:2] : INIT0[1:0];
  wire [1:0] first1 = B1 ? INIT1[3:2] : INIT1[1:0];
  wire begins0 = (INJECT1_0 == "NO") & (A0 ? first0[1] : first0[0]);
  wire begins1 = (INJECT1_1 == "NO") & (A1 ? first1[1] : first1[0]);
  wire between = low0 ? CIN : begins0;
  assign S0 = low0 ^ ((INJECT1_0 == "NO") & CIN);
  assign S1 = low1 ^ ((INJECT1_1 == "NO") & between);
  assign COUT = low1 ? between : begins1;
endmodule

// A bit of an ALU that adds where I3 is high, and else subtracts.
module ALU(output SUM, COUT, input I0, I1, I3, CIN);
  parameter ALU_MODE = 0;
  wire propagates = I0 ^ I1 ^ ~I3;
  assign SUM = propagates ^ CIN;
  assign COUT = propagates ? CIN : I0;
  initial if (ALU_MODE != 2) $fatal(1, "ALU: mode %0d is not modelled", ALU_MODE);
endmodule

// Gowin GW2A's product of 18 x 18 bits (UG287): registers before it, inside, and behind it.
module MULT18X18(
    input [17:0] A, input [17:0] B, input ASIGN, BSIGN, ASEL, BSEL, CE, CLK, RESET, output [35:0] DOUT
);
  parameter AREG = 1'b0, BREG = 1'b0, OUT_REG = 1'b0, PIPE_REG = 1'b0, MULT_RESET_MODE = "SYNC";
  reg signed [18:0] a, b;
  reg signed [37:0] amid, behind;
  wire signed [18:0] first = {ASIGN & A[17], A}, second = {BSIGN & B[17], B};
  wire signed [18:0] x = AREG ? a : first, y = BREG ? b : second;
  wire signed [37:0] product = x * y, piped = PIPE_REG ? amid : product;
  always @(posedge CLK) if (CE) begin
    a <= first;
    b <= second;
    amid <= product;
    behind <= piped;
  end
  assign DOUT = OUT_REG ? behind : piped;
endmodule

// Lattice iCE40 UltraPlus's block as a product of 16 x 16 bits (FPGA-TN-02007).
module SB_MAC16(
    input [15:0] A, input [15:0] B, input [15:0] C, input [15:0] D, output [31:0] O, input CLK, CE,
    input AHOLD, BHOLD, CHOLD, DHOLD, IRSTTOP, IRSTBOT, ORSTTOP, ORSTBOT, OLOADTOP, OLOADBOT, ADDSUBTOP, ADDSUBBOT,
    input OHOLDTOP, OHOLDBOT, CI, ACCUMCI, SIGNEXTIN
);
  parameter A_REG = 1'b0, B_REG = 1'b0, PIPELINE_16x16_MULT_REG2 = 1'b0, A_SIGNED = 1'b0, B_SIGNED = 1'b0;
  parameter TOPOUTPUT_SELECT = 2'b00, BOTOUTPUT_SELECT = 2'b00;
  reg signed [16:0] a, b;
  reg signed [33:0] behind;
  wire signed [16:0] first = {A_SIGNED & A[15], A}, second = {B_SIGNED & B[15], B};
  wire signed [16:0] x = A_REG ? a : first, y = B_REG ? b : second;
  wire signed [33:0] product = x * y;
  always @(posedge CLK) if (CE) begin
    a <= first;
    b <= second;
    behind <= product;
  end
  assign O = TOPOUTPUT_SELECT != 3 | BOTOUTPUT_SELECT != 3 ? 32'bx : PIPELINE_16x16_MULT_REG2 ? behind : product;
endmodule
