----------------------------- MODULE ViewChange -----------------------------
(***************************************************************************)
(* The end of a view: decision 59. Nodes and token managers end; the       *)
(* membership decides on views without them, and tells each of those who   *)
(* are left at a moment of its own. They find out what the view executes:  *)
(* the coordinator gathers what they know, all hold the prefix that comes  *)
(* of it, and only then does anybody begin.                                *)
(*                                                                         *)
(* The first view has pulses (module Pulses); in those after it nothing is *)
(* submitted. A halted node executes no more, which is one that takes no   *)
(* step. Left out: answers to senders, so also what programs are told.     *)
(***************************************************************************)
EXTENDS Pulses

CONSTANTS
    NodesEnd,    \* Nodes that may end, in a model.
    ManagersEnd, \* Managers that may.
    MostEnds,    \* How many of them do.
    MostViews    \* How many views there are.

VARIABLES
    up,         \* Nodes that are there.
    managersUp,    \* Managers that are there.
    views,      \* What the membership has decided: [nodes, managers] of each view.
    view,       \* The view that each node is in.
    before,     \* Of each node: the view that it was in before.
    wish,       \* The view that it was told of last.
    left,       \* Of each manager: the view that it is in.
    sentLast,   \* Of <<manager, neighbour>>: what its last two tokens carried.
    farewell,   \* Of <<manager, node>>: "none", "coming", or "heard", and what is known by it.
    asked,      \* Of each node: who has asked it what it knows, for which view.
    asks,       \* Of each node: <<view, next>> for which it has asked the others, as their coordinator.
    reported,   \* Of each node: the view for which it has told what it knows; from then on it takes nothing more of its view.
    gathered,   \* Of each coordinator: what each node told, for the view that it wishes.
    prefixes,   \* Of each node: [next, order], the prefixes that it holds, one behind the other.
    holders,    \* Of each coordinator: who holds its prefix.
    out,        \* Nodes that were left behind.
    cuts        \* Frames of view changes under way.

changeVars == <<up, managersUp, views, view, before, wish, left, sentLast, farewell, asked, asks, reported, gathered, prefixes,
                holders, out, cuts>>
vars == <<pulseVars, changeVars>>

-----------------------------------------------------------------------------
MinOf(set) == CHOOSE x \in set : \A y \in set : x <= y

(* More than half of the nodes of a view, or half of them with the lowest. *)
IsQuorum(of, some) ==
    LET there == Cardinality(some \cap of) IN
    \/ 2 * there > Cardinality(of)
    \/ 2 * there = Cardinality(of) /\ MinOf(of) \in some

(* Nodes of node n's view that are in view v. *)
Left(n, v) == views[view[n]].nodes \cap views[v].nodes
Coordinator(n) == MinOf(Left(n, wish[n]))
Nothing == [next |-> 0, order |-> <<>>]
(* The prefix that node n holds last. *)
Held(n) == IF prefixes[n] = <<>> THEN Nothing ELSE prefixes[n][Len(prefixes[n])]
NotAsked == [by |-> 0, next |-> 0]

ChangeInit ==
    /\ up = Node
    /\ managersUp = Manager
    /\ views = <<[nodes |-> Node, managers |-> Manager]>>
    /\ view = [n \in Node |-> 1]
    /\ before = [n \in Node |-> 1]
    /\ wish = [n \in Node |-> 1]
    /\ left = [m \in Manager |-> 1]
    /\ sentLast = [pair \in Joined |-> <<>>]
    /\ farewell = [pair \in Manager \X Node |-> [is |-> "none", known |-> {}]]
    /\ asked = [n \in Node |-> NotAsked]
    /\ asks = [n \in Node |-> <<0, 0>>]
    /\ reported = [n \in Node |-> 0]
    /\ gathered = [n \in Node |-> <<>>]
    /\ prefixes = [n \in Node |-> <<>>]
    /\ holders = [n \in Node |-> {}]
    /\ out = {}
    /\ cuts = {}

There(n) == n \in up /\ n \notin out
(* Node n takes what comes of the pulses of the first view. *)
Takes(n) == There(n) /\ view[n] = 1 /\ reported[n] = 0
Ticks(m) == m \in managersUp /\ left[m] = 1

-----------------------------------------------------------------------------
(* Pulses, by who is there and in the first view. *)

PulsesWork ==
    \/ /\ \/ \E n \in Node : /\ Takes(n)
                             /\ \/ wish[n] = 1 /\ (SubmitsNext(n) \/ Execute(n))
                                \/ TakeMarker(n)
                                \/ \E part \in parts : part[1] = n /\ TakePart(part[1], part[2], part[3])
          \/ \E n \in Node : Ticks(SwitchOf[n]) /\ (TakeAnnounce(n) \/ Stamp(n))
          \/ \E ack \in acks : Ticks(SwitchOf[ack[2]]) /\ TakeAck(ack[1], ack[2], ack[3])
          \/ \E pair \in Joined : Ticks(pair[1]) /\ TakeToken(pair[1], pair[2])
       /\ UNCHANGED changeVars
    \/ \E m \in Manager :
        /\ Ticks(m)
        /\ EndPulse(m)
        /\ sentLast' = [pair \in Joined |->
              IF pair[1] # m THEN sentLast[pair]
              ELSE Append(IF Len(sentLast[pair]) < 2 THEN sentLast[pair] ELSE Tail(sentLast[pair]), carry[pair])]
        /\ UNCHANGED <<up, managersUp, views, view, before, wish, left, farewell, asked, asks, reported, gathered, prefixes,
                       holders, out, cuts>>

-----------------------------------------------------------------------------
(* Ends, and views. *)

Ended == Cardinality(Node \ up) + Cardinality(Manager \ managersUp)

NodeEnds(n) ==
    /\ n \in up \cap NodesEnd /\ Ended < MostEnds
    /\ up' = up \ {n}
    /\ UNCHANGED <<pulseVars, managersUp, views, view, before, wish, left, sentLast, farewell, asked, asks, reported, gathered,
                   prefixes, holders, out, cuts>>

ManagerEnds(m) ==
    /\ m \in managersUp \cap ManagersEnd /\ Ended < MostEnds
    /\ managersUp' = managersUp \ {m}
    /\ UNCHANGED <<pulseVars, up, views, view, before, wish, left, sentLast, farewell, asked, asks, reported, gathered,
                   prefixes, holders, out, cuts>>

(* The membership takes out who has ended. *)
Decide ==
    LET last == views[Len(views)]
        next == [nodes |-> last.nodes \cap up, managers |-> last.managers \cap managersUp]
    IN /\ Len(views) < MostViews
       /\ next # last /\ next.nodes # {}
       /\ views' = Append(views, next)
       /\ UNCHANGED <<pulseVars, up, managersUp, view, before, wish, left, sentLast, farewell, asked, asks, reported, gathered,
                      prefixes, holders, out, cuts>>

MayWish(n, v) == Mistake = "minority-begins" \/ IsQuorum(views[view[n]].nodes, Left(n, v))

Tell(n, v) ==
    /\ There(n)
    /\ v > wish[n] /\ n \in views[v].nodes
    /\ MayWish(n, v)
    /\ wish' = [wish EXCEPT ![n] = v]
    /\ gathered' = [gathered EXCEPT ![n] = <<>>]
    /\ holders' = [holders EXCEPT ![n] = {}]
    /\ UNCHANGED <<pulseVars, up, managersUp, views, view, before, left, sentLast, farewell, asked, asks, reported, prefixes,
                   out, cuts>>

(* A manager leaves the view: it tells the nodes of all switches what has a place, here and on the way to its neighbours. *)
TellManager(m, v) ==
    /\ m \in managersUp /\ v > left[m] /\ m \in views[v].managers
    /\ left' = [left EXCEPT ![m] = v]
    /\ LET beside == {pair \in Joined : pair[1] = m}
           carried == UNION {carry[pair] \cup UNION Range(sentLast[pair]) : pair \in beside}
           known == IF Mistake = "farewell-left-out" THEN {} ELSE calendar[m] \cup carried
           hears(n) == n \in views[v].nodes /\ (SwitchOf[n] = m \/ Mistake # "farewell-at-home")
       IN farewell' = [pair \in Manager \X Node |->
            IF pair[1] # m \/ left[m] > 1 \/ pair[2] \notin views[v].nodes THEN farewell[pair]
            ELSE [is |-> "coming", known |-> IF hears(pair[2]) THEN known ELSE {}]]
    /\ UNCHANGED <<pulseVars, up, managersUp, views, view, before, wish, sentLast, asked, asks, reported, gathered, prefixes,
                   holders, out, cuts>>

(* It comes behind all markers of the node's own manager. *)
TakeFarewell(m, n) ==
    /\ Takes(n) /\ farewell[<<m, n>>].is = "coming"
    /\ SwitchOf[n] = m => markers[n] = <<>>
    /\ farewell' = [farewell EXCEPT ![<<m, n>>].is = "heard"]
    /\ UNCHANGED <<pulseVars, up, managersUp, views, view, before, wish, left, sentLast, asked, asks, reported, gathered,
                   prefixes, holders, out, cuts>>

(* The node hears that a manager is gone. What that has sent may be lost. *)
LoseManager(m, n) ==
    /\ Takes(n) /\ m \notin managersUp /\ farewell[<<m, n>>].is # "heard"
    /\ farewell' = [farewell EXCEPT ![<<m, n>>] = [is |-> "heard", known |-> {}]]
    /\ UNCHANGED <<pulseVars, up, managersUp, views, view, before, wish, left, sentLast, asked, asks, reported, gathered,
                   prefixes, holders, out, cuts>>

-----------------------------------------------------------------------------
(* The cut. *)

Cut(kind, from, to, body) ==
    [kind |-> kind, from |-> from, to |-> to, view |-> view[from], next |-> wish[from], body |-> body]

Gather(n) ==
    /\ There(n) /\ wish[n] > view[n] /\ Coordinator(n) = n
    /\ asks[n] # <<view[n], wish[n]>>
    /\ asks' = [asks EXCEPT ![n] = <<view[n], wish[n]>>]
    /\ cuts' = cuts \cup {Cut("gather", n, o, <<>>) : o \in Left(n, wish[n]) \ {n}}
    /\ UNCHANGED <<pulseVars, up, managersUp, views, view, before, wish, left, sentLast, farewell, asked, reported, gathered,
                   prefixes, holders, out>>

HeardManagersOut(n) ==
    view[n] > 1 \/ \A m \in views[wish[n]].managers : farewell[<<m, n>>].is = "heard"

Ran(n) == {Isochron(s) : s \in Range(executed[n])}

(* The places that node n was told, those of what it holds for a next view, and pulse 0 for what it has a part of and no place. *)
Known(n) ==
    IF view[n] > 1 THEN {}
    ELSE Range(told[n]) \cup UNION {farewell[<<m, n>>].known : m \in {m \in Manager : farewell[<<m, n>>].is = "heard"}}
         \cup (IF Mistake = "held-forgotten" THEN {} ELSE UNION {Range(prefixes[n][i].order) : i \in 1..Len(prefixes[n])})
         \cup {<<0, i[1], i[2]>> : i \in held[n] \ Ran(n)}
         \cup {<<0, n, r>> : r \in {r \in 1..rank[n] : <<n, r>> \notin Ran(n)}}

Report(n) ==
    /\ There(n) /\ wish[n] > view[n] /\ reported[n] # wish[n]
    /\ Coordinator(n) = n \/ asked[n] = [by |-> Coordinator(n), next |-> wish[n]]
    /\ HeardManagersOut(n)
    /\ reported' = [reported EXCEPT ![n] = wish[n]]
    /\ IF Coordinator(n) = n
       THEN /\ gathered' = [gathered EXCEPT ![n] = [o \in DOMAIN @ \cup {n} |-> IF o = n THEN Known(n) ELSE @[o]]]
            /\ cuts' = cuts
       ELSE /\ gathered' = gathered
            /\ cuts' = cuts \cup {Cut("report", n, Coordinator(n), Known(n))}
    /\ UNCHANGED <<pulseVars, up, managersUp, views, view, before, wish, left, sentLast, farewell, asked, asks, prefixes,
                   holders, out>>

(* What a view executes, of all that is known: an isochron without a place goes directly in front of the next one of its sender that has one, *)
(* or nowhere.                                                                                                                               *)
PrefixOf(known) ==
    LET places == {s \in known : s[1] > 0}
        lost == {s \in known : s[1] = 0 /\ ~\E p \in places : Isochron(p) = Isochron(s)}
        later(s) == {p \in places : p[2] = s[2] /\ p[3] > s[3]}
        first(s) == CHOOSE p \in later(s) : \A q \in later(s) : p[3] <= q[3]
    IN Sorted(places \cup {<<first(s)[1], s[2], s[3]>> : s \in {s \in lost : later(s) # {}}})

Compose(n) ==
    /\ There(n) /\ wish[n] > view[n] /\ Coordinator(n) = n
    /\ DOMAIN gathered[n] = Left(n, wish[n]) /\ holders[n] = {}
    /\ LET order == PrefixOf(UNION {gathered[n][o] : o \in DOMAIN gathered[n]})
           others == IF Mistake = "entry-left-out" /\ order # <<>> THEN SubSeq(order, 1, Len(order) - 1) ELSE order
       IN /\ prefixes' = [prefixes EXCEPT ![n] = Append(@, [next |-> wish[n], order |-> order])]
          /\ cuts' = cuts \cup {Cut("prefix", n, o, others) : o \in Left(n, wish[n]) \ {n}}
    /\ holders' = [holders EXCEPT ![n] = {n}]
    /\ UNCHANGED <<pulseVars, up, managersUp, views, view, before, wish, left, sentLast, farewell, asked, asks, reported,
                   gathered, out>>

(* What node n executes of the prefix that it holds. *)
RECURSIVE Rest(_, _)
Rest(n, order) ==
    IF order = <<>> THEN <<>>
    ELSE LET s == Head(order)
             runs == n \in To(Isochron(s)) /\ Isochron(s) \notin Ran(n) /\ IsHere(n, Isochron(s))
         IN (IF runs THEN <<s>> ELSE <<>>) \o Rest(n, Tail(order))

(* Node n begins a view whose prefix it holds. A later one that it was told of is next, if enough are left for it. *)
Begins(n, begun) ==
    LET v == begun.next
        goesOn == wish[n] > v /\ (Mistake = "minority-begins" \/
                                  IsQuorum(views[v].nodes, views[v].nodes \cap views[wish[n]].nodes))
    IN /\ executed' = [executed EXCEPT ![n] = @ \o Rest(n, begun.order)]
       /\ view' = [view EXCEPT ![n] = v]
       /\ before' = [before EXCEPT ![n] = view[n]]
       /\ wish' = [wish EXCEPT ![n] = IF goesOn THEN @ ELSE v]
       /\ asked' = [asked EXCEPT ![n] = NotAsked]
       /\ reported' = [reported EXCEPT ![n] = 0]
       /\ gathered' = [gathered EXCEPT ![n] = <<>>]
       /\ prefixes' = [prefixes EXCEPT ![n] = <<>>]
       /\ holders' = [holders EXCEPT ![n] = {}]
       /\ cuts' = cuts \cup {[kind |-> "begun", from |-> n, to |-> o, view |-> v, next |-> v, body |-> <<>>] :
                             o \in (IF n = Coordinator(n) THEN views[v].nodes \ {n} ELSE {})}
    /\ UNCHANGED <<rank, sent, parts, held, told, ofManagers, links, up, managersUp, views, left, sentLast, farewell, asks, out>>

AllHold(n) ==
    /\ There(n) /\ Held(n).next # 0 /\ wish[n] = Held(n).next /\ Coordinator(n) = n
    /\ Mistake = "begun-before-held" \/ holders[n] = Left(n, wish[n])
    /\ Begins(n, Held(n))

(* Whether a frame says that somebody has begun the view of the i-th prefix that node n holds, who is in the views of all behind that: they wait for *)
(* that node and will never begin.                                                                                                                  *)
SaysBegun(cut, n, i) ==
    /\ cut.to = n /\ cut.view = prefixes[n][i].next /\ cut.from \in views[view[n]].nodes
    /\ \A j \in (i + 1)..Len(prefixes[n]) : cut.from \in views[prefixes[n][j].next].nodes

(* Whoever holds a view begins it as soon as somebody says something in it. *)
HearsBegun(n) ==
    /\ There(n)
    /\ \E i \in 1..Len(prefixes[n]) : /\ \E cut \in cuts : SaysBegun(cut, n, i)
                                      /\ Begins(n, prefixes[n][i])

IsLate(cut) == cut.view < view[cut.to]

TakeCut(cut) ==
    LET n == cut.to IN
    /\ cut \in cuts /\ There(n)
    /\ cut.kind # "begun" => cut.view <= view[n]
    /\ \A i \in 1..Len(prefixes[n]) : ~SaysBegun(cut, n, i)
    /\ LET rest == cuts \ {cut}
           is(kind) == cut.kind = kind /\ cut.view = view[n]
           isOfWish == cut.next = wish[n] /\ wish[n] > view[n]
           isTold == is("report") /\ isOfWish /\ Coordinator(n) = n
           isOrder == is("prefix") /\ isOfWish /\ Coordinator(n) = cut.from /\ reported[n] = wish[n]
           isHeld == is("held") /\ isOfWish /\ Coordinator(n) = n /\ holders[n] # {}
           isBehind == cut.kind \in {"gather", "prefix"} /\ IsLate(cut) /\ cut.from \in views[view[n]].nodes
       IN /\ asked' = IF is("gather") /\ asked[n].next <= cut.next
                      THEN [asked EXCEPT ![n] = [by |-> cut.from, next |-> cut.next]] ELSE asked
          /\ gathered' = IF isTold
                         THEN [gathered EXCEPT ![n] = [o \in DOMAIN @ \cup {cut.from} |->
                                                       IF o = cut.from THEN cut.body ELSE @[o]]]
                         ELSE gathered
          /\ prefixes' = IF isOrder THEN [prefixes EXCEPT ![n] = Append(@, [next |-> cut.next, order |-> cut.body])]
                        ELSE prefixes
          /\ holders' = IF isHeld THEN [holders EXCEPT ![n] = @ \cup {cut.from}] ELSE holders
          /\ out' = IF cut.kind = "begun" /\ cut.view > view[n] /\ wish[n] > view[n] /\ wish[n] <= cut.view
                    THEN out \cup {n} ELSE out
          /\ cuts' = rest
                \cup (IF isOrder THEN {Cut("held", n, cut.from, <<>>)} ELSE {})
                \cup (IF isBehind THEN {[kind |-> "begun", from |-> n, to |-> cut.from, view |-> view[n],
                                         next |-> view[n], body |-> <<>>]} ELSE {})
    /\ UNCHANGED <<pulseVars, up, managersUp, views, view, before, wish, left, sentLast, farewell, asks, reported>>

-----------------------------------------------------------------------------
ChangeWorks ==
    \/ Decide
    \/ \E v \in 2..Len(views) : (\E n \in Node : Tell(n, v)) \/ (\E m \in Manager : TellManager(m, v))
    \/ \E m \in Manager, n \in Node : TakeFarewell(m, n) \/ LoseManager(m, n)
    \/ \E n \in Node : \/ Gather(n) \/ Report(n) \/ Compose(n)
                       \/ AllHold(n) \/ HearsBegun(n)
    \/ \E cut \in cuts : TakeCut(cut)

Ends == (\E n \in Node : NodeEnds(n)) \/ (\E m \in Manager : ManagerEnds(m))

(* Where the model may stop: the views are used up, or all who are there and in the last one have begun it, or they are a minority. *)
Settled ==
    LET last == views[Len(views)]
        stuck(n) == \/ n \in out
                    \/ ~IsQuorum(views[view[n]].nodes, Left(n, Len(views)))
    IN \/ last.nodes \ up # {} \/ last.managers \ managersUp # {}
       \/ \A n \in last.nodes : view[n] = Len(views) \/ stuck(n)

Rested == Settled /\ UNCHANGED vars
ChangeNext == PulsesWork \/ ChangeWorks \/ Ends \/ Rested
ChangeSpec == PulseInit /\ ChangeInit /\ [][ChangeNext]_vars

-----------------------------------------------------------------------------
(* What must hold. *)

Begun == {n \in Node : view[n] > 1}
AllManagers == managersUp = Manager

(* Each node executes in the order of the stamps, also across the cut. *)
OneOrderToTheEnd == OneOrder

(* Nobody who is there executes an isochron at another stamp than others; while all managers live, nobody at all does. *)
OneStamp ==
    \A a, b \in Node : (AllManagers \/ {a, b} \subseteq up) =>
        \A s \in Range(executed[a]), t \in Range(executed[b]) : Isochron(s) = Isochron(t) => s = t

(* Whoever has begun a next view has executed the same of the first: of two receivers both or none. *)
SamePrefix ==
    \A a, b \in Begun : \A i \in DOMAIN sent :
        a \in To(i) /\ b \in To(i) => (i \in Ran(a) <=> i \in Ran(b))

(* While all managers live, those who begin a next view have executed all that anybody had, who ended or was left behind. *)
Inherited ==
    AllManagers =>
        \A a \in Node, b \in Begun : \A s \in Range(executed[a]) : b \in To(Isochron(s)) => s \in Range(executed[b])

(* Whoever has begun a view: all others of the one before that are in it hold what it executes, or have begun as well. *)
HeldByAll ==
    \A n \in Begun : Len(views) = view[n] =>
        \A o \in views[before[n]].nodes \cap views[view[n]].nodes : view[o] = view[n] \/ Held(o).next = view[n]

(* A node that begins a view has a quorum of the one before with it. *)
NoMinorityBegins ==
    \A n \in Begun : IsQuorum(views[before[n]].nodes, views[view[n]].nodes)

(* What is in a prefix that a node holds can be executed there: no part is missing. *)
NothingLacks ==
    \A n \in Node : \A s \in Range(Held(n).order) : n \in To(Isochron(s)) => IsHere(n, Isochron(s))
=============================================================================
