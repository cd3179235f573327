----------------------------- MODULE Agreement -----------------------------
(***************************************************************************)
(* Agreeing on the next view: decision 65. The nodes of a view decide by   *)
(* Paxos (Lamport, "Paxos made simple", 2001) who belongs to the one after *)
(* it: one instance for each view, with quorums that meet. Which ones a    *)
(* node takes to be gone is anybody's guess here, so that nodes are wrong  *)
(* as well, and differ; a view is a set of nodes.                          *)
(*                                                                         *)
(* Links lose, double and reorder what is said, which those of the product *)
(* do not. Left out: topologies, pauses, and leaving.                      *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS
    Node,       \* Numbers: ballots are ordered by them.
    Proposers,  \* Nodes that propose, in a model.
    Guesses(_, _), \* Of a node, and the nodes of its view: whom it may take to be left, in a model.
    MostRounds, \* Of ballots, in a model.
    MostViews,  \* How many views there are, in a model.
    Mistake     \* "none", or a mistake that is to be found.

VARIABLES
    base,       \* Of each node: the last view that it knows to be agreed on.
    nodes,      \* Of each node: who is in that.
    promised,   \* The ballot <<round, node>> that it has promised.
    accepted,   \* [ballot, value]: what it has accepted last for the view behind its base.
    proposal,   \* What it proposes: [ballot, value].
    said        \* All that was said: [kind, from, base, ballot, accepted, value].

vars == <<base, nodes, promised, accepted, proposal, said>>

-----------------------------------------------------------------------------
MinOf(set) == CHOOSE x \in set : \A y \in set : x <= y

(* More than half of the nodes of a view, or half of them with the lowest. *)
IsQuorum(of, some) ==
    LET there == Cardinality(some \cap of) IN
    \/ 2 * there > Cardinality(of)
    \/ 2 * there = Cardinality(of) /\ (Mistake = "any-half" \/ MinOf(of) \in some)

Lower(a, b) == a[1] < b[1] \/ (a[1] = b[1] /\ a[2] < b[2])
NoBallot == <<0, 0>>
Unknown == {}
NotAccepted == [ballot |-> NoBallot, value |-> Unknown]
NoProposal == [ballot |-> NoBallot, value |-> Unknown]

Init ==
    /\ base = [n \in Node |-> 1]
    /\ nodes = [n \in Node |-> Node]
    /\ promised = [n \in Node |-> NoBallot]
    /\ accepted = [n \in Node |-> NotAccepted]
    /\ proposal = [n \in Node |-> NoProposal]
    /\ said = {}

Frame(kind, n, ballot, accepts, value) ==
    [kind |-> kind, from |-> n, base |-> base[n], ballot |-> ballot, accepted |-> accepts, value |-> value]

(* Frames that node n takes in its instance. *)
Heard(kind, n) == {f \in said : f.kind = kind /\ f.base = base[n] /\ f.from \in nodes[n]}

-----------------------------------------------------------------------------
Prepare(n) ==
    LET ballot == <<promised[n][1] + 1, n>> IN
    /\ n \in nodes[n] /\ base[n] < MostViews /\ ballot[1] <= MostRounds
    /\ proposal[n] = NoProposal
    /\ proposal' = [proposal EXCEPT ![n] = [NoProposal EXCEPT !.ballot = ballot]]
    /\ said' = said \cup {Frame("prepare", n, ballot, NotAccepted, Unknown)}
    /\ UNCHANGED <<base, nodes, promised, accepted>>

Promise(n, f) ==
    /\ f \in Heard("prepare", n) /\ Lower(promised[n], f.ballot)
    /\ promised' = [promised EXCEPT ![n] = f.ballot]
    /\ said' = said \cup {Frame("promise", n, f.ballot, accepted[n], Unknown)}
    /\ UNCHANGED <<base, nodes, accepted, proposal>>

(* Values that were accepted. *)
Agreed(n) == {f.accepted.value : f \in {f \in Heard("promise", n) : f.accepted.ballot # NoBallot}}

(* A quorum has promised: node n proposes what the latest of them has accepted, or else the nodes that it takes to be there. *)
Propose(n, quorum, left) ==
    LET mine == proposal[n]
        promises == {f \in Heard("promise", n) : f.ballot = mine.ballot /\ f.from \in quorum}
        earlier == {f.accepted : f \in {f \in promises : f.accepted.ballot # NoBallot}}
        latest == CHOOSE one \in earlier : \A o \in earlier : ~Lower(one.ballot, o.ballot)
    IN /\ mine.ballot # NoBallot /\ mine.value = Unknown
       /\ IsQuorum(nodes[n], quorum) /\ {f.from : f \in promises} = quorum
       /\ left = IF earlier = {} \/ Mistake = "own-value" THEN left ELSE latest.value
       /\ left # {} /\ left \subseteq nodes[n]
       /\ proposal' = [proposal EXCEPT ![n].value = left]
       /\ said' = said \cup {Frame("accept", n, mine.ballot, NotAccepted, left)}
       /\ UNCHANGED <<base, nodes, promised, accepted>>

Accept(n, f) ==
    /\ f \in Heard("accept", n)
    /\ Mistake = "promise-forgotten" \/ ~Lower(f.ballot, promised[n])
    /\ promised' = [promised EXCEPT ![n] = f.ballot]
    /\ accepted' = [accepted EXCEPT ![n] = [ballot |-> f.ballot, value |-> f.value]]
    /\ said' = said \cup {Frame("accepted", n, f.ballot, NotAccepted, Unknown)}
    /\ UNCHANGED <<base, nodes, proposal>>

(* Node n learns that this is the view behind its base: it takes part in no earlier instance any more. *)
Adopts(n, view, value) ==
    /\ base' = [base EXCEPT ![n] = view]
    /\ nodes' = [nodes EXCEPT ![n] = value]
    /\ promised' = [promised EXCEPT ![n] = NoBallot]
    /\ accepted' = [accepted EXCEPT ![n] = NotAccepted]
    /\ proposal' = [proposal EXCEPT ![n] = NoProposal]
    /\ said' = said \cup {[kind |-> "agreed", from |-> n, base |-> view, ballot |-> NoBallot,
                           accepted |-> NotAccepted, value |-> value]}

(* A quorum has accepted. *)
Learn(n) ==
    LET mine == proposal[n] IN
    /\ mine.value # Unknown
    /\ IsQuorum(nodes[n], {f.from : f \in {f \in Heard("accepted", n) : f.ballot = mine.ballot}})
    /\ Adopts(n, base[n] + 1, mine.value)

(* Somebody has promised a later ballot: what this node proposed comes to nothing. *)
TakeRefused(n, ballot) ==
    /\ proposal[n].ballot # NoBallot /\ Lower(proposal[n].ballot, ballot)
    /\ \E o \in nodes[n] : base[o] = base[n] /\ promised[o] = ballot
    /\ proposal' = [proposal EXCEPT ![n] = NoProposal]
    /\ promised' = [promised EXCEPT ![n] = IF Lower(@, ballot) THEN ballot ELSE @]
    /\ UNCHANGED <<base, nodes, accepted, said>>

TakeAgreed(n, f) ==
    /\ f \in said /\ f.kind = "agreed" /\ f.base > base[n]
    /\ Adopts(n, f.base, f.value)

Next ==
    \E n \in Node :
        \/ n \in Proposers /\ Prepare(n)
        \/ \E quorum \in SUBSET nodes[n], left \in Guesses(n, nodes[n]) \cup Agreed(n) : Propose(n, quorum, left)
        \/ Learn(n)
        \/ \E o \in Node : TakeRefused(n, promised[o])
        \/ \E f \in said : Promise(n, f) \/ Accept(n, f) \/ TakeAgreed(n, f)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* A view is decided once: all who know of it know the same nodes. *)
OneView == \A f, g \in {f \in said : f.kind = "agreed"} : f.base = g.base => f.value = g.value

(* No two quorums of a ballot's value exist: what was chosen is what is learned. *)
Chosen(view) ==
    {value \in {f.value : f \in {f \in said : f.kind = "accept" /\ f.base = view}} :
        \E f \in said : /\ f.kind = "accept" /\ f.base = view /\ f.value = value
                        /\ \E of \in {nodes[n] : n \in {n \in Node : base[n] = view}} :
                            IsQuorum(of, {g.from : g \in {g \in said : g.kind = "accepted" /\ g.base = view /\ g.ballot = f.ballot}})}
OneChosen == \A n \in Node : Cardinality(Chosen(base[n])) <= 1
=============================================================================
