----------------------------- MODULE Agreement -----------------------------
(***************************************************************************)
(* Agreeing on the next view: decision 65. The nodes of a view decide by   *)
(* Paxos (Lamport, "Paxos made simple", 2001) who belongs to the one after *)
(* it: one instance for each view, with quorums that meet. Which ones a    *)
(* node takes to be gone is anybody's guess here, so that nodes are wrong  *)
(* as well, and differ; and so is whom it lets in of those who come back   *)
(* (decision 66).                                                          *)
(*                                                                         *)
(* A view says of each node which process of it is in it, and since when.  *)
(* What is said is said by a node, whichever process it is, also long      *)
(* after that has ended.                                                   *)
(*                                                                         *)
(* Links lose, double and reorder what is said, which those of the product *)
(* do not. Left out: topologies, pauses, and leaving.                      *)
(***************************************************************************)
EXTENDS Integers, FiniteSets

CONSTANTS
    Node,       \* Numbers: ballots are ordered by them.
    Newcomer,   \* Later processes that ask to be let in: <<node, life>>. They know the first view, which those of the product do not.
    Proposers,  \* Processes that propose, in a model.
    Guesses(_, _), \* Of a node, and the nodes of its view: whom it may take to be left, in a model.
    MostRounds, \* Of ballots, in a model.
    MostViews,  \* How many views there are, in a model.
    Mistake     \* "none", or a mistake that is to be found.

VARIABLES
    base,       \* Of each process: the last view that it knows to be agreed on.
    nodes,      \* Of each process: who is in that, as which process and since when: [life, since] of each node.
    promised,   \* The ballot <<round, node>> that it has promised.
    accepted,   \* [ballot, value]: what it has accepted last for the view behind its base.
    proposal,   \* What it proposes: [ballot, value].
    said        \* All that was said: [kind, from, base, ballot, accepted, value].

vars == <<base, nodes, promised, accepted, proposal, said>>

-----------------------------------------------------------------------------
First == {<<n, 0>> : n \in Node}
Process == First \cup Newcomer
NodeOf(p) == p[1]
LifeOf(p) == p[2]

(* The node that has been there for longest; of several the lowest. *)
Eldest(of) == CHOOSE n \in DOMAIN of : \A o \in DOMAIN of : of[n].since < of[o].since \/ (of[n].since = of[o].since /\ n <= o)

(* More than half of the nodes of a view, or half of them with the eldest. *)
IsQuorum(of, some) ==
    LET there == Cardinality(some \cap DOMAIN of) IN
    \/ 2 * there > Cardinality(DOMAIN of)
    \/ 2 * there = Cardinality(DOMAIN of) /\ (Mistake = "any-half" \/ Eldest(of) \in some)

Lower(a, b) == a[1] < b[1] \/ (a[1] = b[1] /\ a[2] < b[2])
NoBallot == <<0, 0>>
Unknown == <<>>
NotAccepted == [ballot |-> NoBallot, value |-> Unknown]
NoProposal == [ballot |-> NoBallot, value |-> Unknown]

Init ==
    /\ base = [p \in Process |-> 1]
    /\ nodes = [p \in Process |-> [n \in Node |-> [life |-> 0, since |-> 0]]]
    /\ promised = [p \in Process |-> NoBallot]
    /\ accepted = [p \in Process |-> NotAccepted]
    /\ proposal = [p \in Process |-> NoProposal]
    /\ said = {}

Frame(kind, p, ballot, accepts, value) ==
    [kind |-> kind, from |-> NodeOf(p), base |-> base[p], ballot |-> ballot, accepted |-> accepts, value |-> value]

(* Who is in no view has no part in what the next one is, though an earlier process of its node may be in it. *)
IsMember(p) ==
    NodeOf(p) \in DOMAIN nodes[p] /\ (nodes[p][NodeOf(p)].life = LifeOf(p) \/ Mistake = "outsider-decides")

(* Frames that process p takes in its instance. *)
Heard(kind, p) == {f \in said : f.kind = kind /\ f.base = base[p] /\ f.from \in DOMAIN nodes[p] /\ IsMember(p)}

-----------------------------------------------------------------------------
Prepare(p) ==
    LET ballot == <<promised[p][1] + 1, NodeOf(p)>> IN
    /\ IsMember(p) /\ base[p] < MostViews /\ ballot[1] <= MostRounds
    /\ proposal[p] = NoProposal
    /\ proposal' = [proposal EXCEPT ![p] = [NoProposal EXCEPT !.ballot = ballot]]
    /\ said' = said \cup {Frame("prepare", p, ballot, NotAccepted, Unknown)}
    /\ UNCHANGED <<base, nodes, promised, accepted>>

Promise(p, f) ==
    /\ f \in Heard("prepare", p) /\ Lower(promised[p], f.ballot)
    /\ promised' = [promised EXCEPT ![p] = f.ballot]
    /\ said' = said \cup {Frame("promise", p, f.ballot, accepted[p], Unknown)}
    /\ UNCHANGED <<base, nodes, accepted, proposal>>

(* Values that were accepted. *)
Agreed(p) == {f.accepted.value : f \in {f \in Heard("promise", p) : f.accepted.ballot # NoBallot}}

(* The view behind that of process p, with the nodes that it takes to be left, and newcomers of which no earlier process is. *)
With(p, left, newcomers) ==
    [n \in left \cup {NodeOf(one) : one \in newcomers} |->
        IF n \in left THEN nodes[p][n]
        ELSE [life |-> LifeOf(CHOOSE one \in newcomers : NodeOf(one) = n), since |-> base[p] + 1]]
Successors(p) ==
    UNION {{With(p, left, newcomers) : newcomers \in {some \in SUBSET Newcomer :
                /\ \A one \in some : NodeOf(one) \notin left
                /\ \A one, other \in some : NodeOf(one) = NodeOf(other) => one = other}} :
           left \in Guesses(NodeOf(p), DOMAIN nodes[p]) \ {{}}}

(* A quorum has promised: process p proposes what the latest of them has accepted, or else a view of those that it takes to be there. *)
Propose(p, quorum, value) ==
    LET mine == proposal[p]
        promises == {f \in Heard("promise", p) : f.ballot = mine.ballot /\ f.from \in quorum}
        earlier == {f.accepted : f \in {f \in promises : f.accepted.ballot # NoBallot}}
        latest == CHOOSE one \in earlier : \A o \in earlier : ~Lower(one.ballot, o.ballot)
    IN /\ mine.ballot # NoBallot /\ mine.value = Unknown
       /\ IsQuorum(nodes[p], quorum) /\ {f.from : f \in promises} = quorum
       /\ IF earlier = {} \/ Mistake = "own-value" THEN value \in Successors(p) ELSE value = latest.value
       /\ proposal' = [proposal EXCEPT ![p].value = value]
       /\ said' = said \cup {Frame("accept", p, mine.ballot, NotAccepted, value)}
       /\ UNCHANGED <<base, nodes, promised, accepted>>

Accept(p, f) ==
    /\ f \in Heard("accept", p)
    /\ Mistake = "promise-forgotten" \/ ~Lower(f.ballot, promised[p])
    /\ promised' = [promised EXCEPT ![p] = f.ballot]
    /\ accepted' = [accepted EXCEPT ![p] = [ballot |-> f.ballot, value |-> f.value]]
    /\ said' = said \cup {Frame("accepted", p, f.ballot, NotAccepted, Unknown)}
    /\ UNCHANGED <<base, nodes, proposal>>

(* Process p learns that this is the view behind its base: it takes part in no earlier instance any more. *)
Adopts(p, view, value) ==
    /\ base' = [base EXCEPT ![p] = view]
    /\ nodes' = [nodes EXCEPT ![p] = value]
    /\ promised' = [promised EXCEPT ![p] = NoBallot]
    /\ accepted' = [accepted EXCEPT ![p] = NotAccepted]
    /\ proposal' = [proposal EXCEPT ![p] = NoProposal]
    /\ said' = said \cup {[kind |-> "agreed", from |-> NodeOf(p), base |-> view, ballot |-> NoBallot,
                           accepted |-> NotAccepted, value |-> value]}

(* A quorum has accepted. *)
Learn(p) ==
    LET mine == proposal[p] IN
    /\ mine.value # Unknown
    /\ IsQuorum(nodes[p], {f.from : f \in {f \in Heard("accepted", p) : f.ballot = mine.ballot}})
    /\ Adopts(p, base[p] + 1, mine.value)

(* Somebody has promised a later ballot: what this process proposed comes to nothing. *)
TakeRefused(p, ballot) ==
    /\ proposal[p].ballot # NoBallot /\ Lower(proposal[p].ballot, ballot)
    /\ \E o \in Process : NodeOf(o) \in DOMAIN nodes[p] /\ base[o] = base[p] /\ promised[o] = ballot
    /\ proposal' = [proposal EXCEPT ![p] = NoProposal]
    /\ promised' = [promised EXCEPT ![p] = IF Lower(@, ballot) THEN ballot ELSE @]
    /\ UNCHANGED <<base, nodes, accepted, said>>

TakeAgreed(p, f) ==
    /\ f \in said /\ f.kind = "agreed" /\ f.base > base[p]
    /\ Adopts(p, f.base, f.value)

Next ==
    \E p \in Process :
        \/ p \in Proposers /\ Prepare(p)
        \/ \E quorum \in SUBSET DOMAIN nodes[p], value \in Successors(p) \cup Agreed(p) : Propose(p, quorum, value)
        \/ Learn(p)
        \/ \E o \in Process : TakeRefused(p, promised[o])
        \/ \E f \in said : Promise(p, f) \/ Accept(p, f) \/ TakeAgreed(p, f)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* A view is decided once: all who know of it know the same nodes. *)
OneView == \A f, g \in {f \in said : f.kind = "agreed"} : f.base = g.base => f.value = g.value

(* No two quorums of a ballot's value exist: what was chosen is what is learned. *)
Chosen(view) ==
    {value \in {f.value : f \in {f \in said : f.kind = "accept" /\ f.base = view}} :
        \E f \in said : /\ f.kind = "accept" /\ f.base = view /\ f.value = value
                        /\ \E of \in {nodes[p] : p \in {p \in Process : base[p] = view}} :
                            IsQuorum(of, {g.from : g \in {g \in said : g.kind = "accepted" /\ g.base = view /\ g.ballot = f.ballot}})}
OneChosen == \A p \in Process : Cardinality(Chosen(base[p])) <= 1
=============================================================================
