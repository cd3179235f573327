---------------------------- MODULE PulsesModel ----------------------------
(* Small sizes of Pulses. *)
EXTENDS Pulses

OneSwitch == [n \in Node |-> "a"]
TwoSwitches == [n \in Node |-> IF n = 1 THEN "a" ELSE "b"]
(* Three in a row, with a node at each end. *)
ThreeInARow == [n \in Node |-> IF n = 1 THEN "a" ELSE "c"]
NoWire == {}
OneWire == {{"a", "b"}}
TwoWires == {{"a", "b"}, {"b", "c"}}

Any == (SUBSET Node) \ {{}}
One == [n \in Node |-> <<Any>>]
(* The first and the second send one each. *)
TwoOfThree == [n \in Node |-> IF n = 3 THEN <<>> ELSE <<{Node}>>]
Two == [n \in Node |-> <<{Node, Node \ {n}}, {Node, {n}}>>]
=============================================================================
