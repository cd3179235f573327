-------------------------- MODULE NewcomersModel --------------------------
(* Small sizes of Newcomers. *)
EXTENDS Newcomers

(* One variable at the node that ends alone, one at another one as well. *)
Copies == [x \in Variable |-> IF x = "x" THEN {3} ELSE {2, 3}]
NoCopies == <<>>

ThirdReturns == <<<<"returns", {3}>>>>
Third == <<<<"ends", {3}>>>> \o ThirdReturns
ThirdAndFirst == ThirdReturns \o <<<<"ends", {1}>>>>
ThirdAgain == ThirdReturns \o Third
(* Node 1, which comes back, is not the eldest any more. *)
FirstAndEldest == <<<<"ends", {1}>>, <<"ends", {3}>>, <<"returns", {1}>>, <<"ends", {2}>>>>

OfFirst == <<1>>
OfTwo == <<1, 2>>
OfNobody == <<>>
=============================================================================
