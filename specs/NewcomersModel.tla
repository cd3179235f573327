-------------------------- MODULE NewcomersModel --------------------------
(* Small sizes of Newcomers. *)
EXTENDS Newcomers

(* One variable at the node that ends alone, one at another one as well. *)
Copies == [x \in Variable |-> IF x = "x" THEN {3} ELSE {2, 3}]
NoCopies == <<>>

Third == <<<<"ends", {3}>>, <<"returns", {3}>>>>
ThirdAndAnother == Third \o <<<<"ends", {1, 2}>>>>
ThirdAgain == Third \o <<<<"ends", {3}>>>>
ThirdAgainAndAgain == ThirdAgain \o <<<<"returns", {3}>>>>
(* Node 1, which comes back, is not the eldest any more. *)
FirstAndEldest == <<<<"ends", {1}>>, <<"ends", {3}>>, <<"returns", {1}>>, <<"ends", {2}>>>>

OfFirst == <<1>>
OfFirstTwice == <<1, 1>>
OfTwo == <<1, 2>>
Nobodys == <<>>
=============================================================================
