-------------------------- MODULE ViewChangeModel --------------------------
(* Small sizes of ViewChange. *)
EXTENDS ViewChange

OneSwitch == [n \in Node |-> "a"]
TwoSwitches == [n \in Node |-> IF n = 1 THEN "a" ELSE "b"]
NoWire == {}
OneWire == {{"a", "b"}}

Nobody == <<>>
ToAll == <<{Node}>>
NothingAtAll == [n \in Node |-> Nobody]
First == [n \in Node |-> IF n = 1 THEN ToAll ELSE Nobody]
OneEach == [n \in Node |-> ToAll]
=============================================================================
