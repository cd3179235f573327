--------------------------- MODULE AgreementModel ---------------------------
(* Small sizes of Agreement. *)
EXTENDS Agreement

FirstTwo == {<<1, 0>>, <<2, 0>>}
Nobody == {}
(* Node 3 comes back. *)
Third == {<<3, 1>>}
(* Everybody takes the next one to be gone. *)
WithoutNext(n, of) == {of \ {1 + (n % Cardinality(Node))}}
=============================================================================
