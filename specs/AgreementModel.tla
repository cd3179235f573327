--------------------------- MODULE AgreementModel ---------------------------
(* Small sizes of Agreement. *)
EXTENDS Agreement

(* Everybody takes the next one to be gone. *)
WithoutNext(n, of) == {of \ {1 + (n % Cardinality(Node))}}
=============================================================================
