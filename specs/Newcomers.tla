----------------------------- MODULE Newcomers -----------------------------
(***************************************************************************)
(* Views that gain nodes: decision 66. A node ends, and comes back as      *)
(* another process, a newcomer. The membership decides on a view that has  *)
(* it; it holds the beginning of that as all do, is in the view when it    *)
(* begins, and executes once it has the state that it begins with, which   *)
(* it asks those for who were in the view before.                          *)
(*                                                                         *)
(* The way to the next view is that of ViewChange, here for every view.    *)
(* Pulses are left out: the token manager of a view, which is in the       *)
(* process of a node (decision 71), appends isochrons that all their       *)
(* receivers have to the order of the view, and tells each node that, one  *)
(* after the other. Isochrons go to all nodes that their program knows of, *)
(* and write every variable. What a program has as its state is what its   *)
(* node has executed.                                                      *)
(*                                                                         *)
(* A node does at once what it can do by itself. Frames overtake each      *)
(* other, which those of the product do not, but for those that ask what a *)
(* node knows; those of a node that ends may be lost on the way to any     *)
(* others.                                                                 *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    Node,       \* Numbers: of several that have been there for equally long the lowest is the eldest.
    Away,       \* Those of them that have ended before the first view.
    Variable,
    CopiesOf,   \* Of each variable: the nodes that have a copy.
    Senders,    \* Whose programs put isochrons together, one after the other, in a model.
    Fates,      \* What befalls nodes, one after the other, in a model: <<"ends" or "returns", of which of them>>.
    MostViews,  \* How many views there are.
    Mistake     \* "none", or a mistake that is to be found.

VARIABLES
    up,         \* Nodes that are there.
    life,       \* Which process of the node that is: 0, the first.
    fated,      \* How many of the fates have come.
    views,      \* What the membership has decided of each view: [since, life, keeper], of each of its nodes since which view it is there and in which life, and whose process has the token manager.
    sent,       \* Isochrons: [by, put, to, in, with], the sender, the view in which its program put it together, the receivers, the view in which it was submitted (0: not yet; Refused), and who has a part.
    parts,      \* <<isochron, node>>: parts under way.
    log,        \* Of each view: what its token manager has put into order.
    at,         \* Of each node: where it is, and on its way to which view.
    store,      \* Of each node: what it has executed, its copies, and what it lacks of both.
    snapshots,  \* Of each node: what views began with, for newcomers: [view, before, ran, memory, for].
    cuts,       \* Frames of view changes under way.
    moves,      \* Frames of states under way.
    past        \* What processes had executed that have ended, and in which views: [view, ran].

links == <<parts, cuts, moves>>
decided == <<up, life, fated, views, past>>
order == <<sent, log>>
vars == <<decided, order, at, store, snapshots, links>>

Refused == -1
Lost == -1

-----------------------------------------------------------------------------
(* Sets and sequences. *)

MaxOf(set) == CHOOSE x \in set : \A y \in set : y <= x
MinOf(set) == CHOOSE x \in set : \A y \in set : x <= y
Range(seq) == {seq[i] : i \in DOMAIN seq}
Last(seq) == seq[Len(seq)]

-----------------------------------------------------------------------------
(* Views. *)

Nodes(v) == DOMAIN views[v].since
Since(v, n) == views[v].since[n]

(* Whether node n's present process is there, or is, in view v. *)
IsOf(n, v) == n \in Nodes(v) /\ views[v].life[n] = life[n]
There(n) == n \in up /\ ~at[n].out
Stays(n, v) == There(n) /\ IsOf(n, v)

(* Of some nodes of a view the one that has been there for longest; of several the lowest. *)
Eldest(v, some) ==
    CHOOSE n \in some : \A o \in some :
        IF Mistake = "lowest-decides" \/ Since(v, n) = Since(v, o) THEN n <= o ELSE Since(v, n) < Since(v, o)

(* More than half of the nodes of a view, or half of them with the eldest. *)
IsQuorum(v, some) ==
    LET there == Cardinality(some \cap Nodes(v)) IN
    \/ 2 * there > Cardinality(Nodes(v))
    \/ 2 * there = Cardinality(Nodes(v)) /\ Eldest(v, Nodes(v)) \in some

(* Nodes of the view that node n wishes that were in its own as well, as the same processes. *)
Left(n) == {o \in Nodes(at[n].wish) : Since(at[n].wish, o) <= at[n].view}
Coordinator(n) == Eldest(at[n].wish, Left(n))

IsOutside(n) == at[n].view = 0
Changes(n) == There(n) /\ ~IsOutside(n) /\ at[n].wish > at[n].view

-----------------------------------------------------------------------------
Nobody == 0
NotAsked == [by |-> Nobody, view |-> 0, next |-> 0]

(* A process in the midst of a view. `told` is how much of the order of the view it was told, `keeperOut` whether nothing more is to come from the token manager. *)
(* The rest is as in ViewChange; `holds` has of each prefix how much of the order it is; `agreed` says that the view behind the last one that is held begins.       *)
In(view, wish) ==
    [view |-> view, wish |-> wish, told |-> 0, keeperOut |-> FALSE, asked |-> NotAsked, asks |-> <<0, 0>>, reported |-> 0,
     gathered |-> <<>>, holds |-> <<>>, holders |-> {}, agreed |-> FALSE, out |-> FALSE]

Copied(n) == {x \in Variable : n \in CopiesOf[x]}
Zeros(n) == [x \in Copied(n) |-> 0]

(* `whole` says whether it has all of the state; until then `source` is whom it has asked, and `before` the view before, once that is known. *)
Whole(n) ==
    [ran |-> <<>>, memory |-> Zeros(n), whole |-> TRUE, source |-> Nobody, tried |-> {}, before |-> 0, lacks |-> {}, program |-> TRUE]
Lacking(n) == [Whole(n) EXCEPT !.whole = FALSE, !.lacks = Copied(n), !.program = FALSE]

Init ==
    /\ up = Node \ Away
    /\ life = [n \in Node |-> 0]
    /\ fated = 0
    /\ views = <<[since |-> [n \in up |-> 0], life |-> [n \in up |-> 0], keeper |-> MinOf(up)]>>
    /\ sent = <<>>
    /\ parts = {}
    /\ log = [v \in 1..MostViews |-> <<>>]
    /\ at = [n \in Node |-> IF n \in up THEN In(1, 1) ELSE In(0, 0)]
    /\ store = [n \in Node |-> IF n \in up THEN Whole(n) ELSE Lacking(n)]
    /\ snapshots = [n \in Node |-> {}]
    /\ cuts = {}
    /\ moves = {}
    /\ past = {}

-----------------------------------------------------------------------------
(* Isochrons. *)

Submitted(n) == {i \in DOMAIN sent : sent[i].by = n}
Kept(n) == {i \in Submitted(n) : sent[i].in = 0}
HasState(n) == store[n].whole \/ (Mistake = "state-not-awaited" /\ ~IsOutside(n))
Executes(n) == There(n) /\ ~IsOutside(n) /\ at[n].wish = at[n].view /\ HasState(n)

(* A program sends to all that it knows of. Its node may have gone on when it takes that. *)
PutTogether(n) ==
    /\ Len(sent) < Len(Senders) /\ Senders[Len(sent) + 1] = n
    /\ There(n) /\ store[n].whole
    /\ sent' = Append(sent, [by |-> n, put |-> at[n].view, to |-> Nodes(at[n].view), in |-> 0, with |-> {}])
    /\ UNCHANGED <<decided, log, at, store, snapshots, links>>

HasGrownSince(v, put) == \E o \in Nodes(v) : Since(v, o) > put

(* What was kept while the view stood still, as well. *)
Submit(n) ==
    /\ Executes(n) /\ Kept(n) # {}
    /\ LET i == MinOf(Kept(n))
           v == at[n].view
           refused == \/ HasGrownSince(v, sent[i].put) /\ Mistake # "growth-ignored"
                      \/ ~(sent[i].to \subseteq Nodes(v))
       IN /\ sent' = IF refused THEN [sent EXCEPT ![i].in = Refused] ELSE [sent EXCEPT ![i].in = v, ![i].with = {n}]
          /\ parts' = IF refused THEN parts ELSE parts \cup {<<i, o>> : o \in sent[i].to \ {n}}
    /\ UNCHANGED <<decided, log, at, store, snapshots, cuts, moves>>

(* A node takes parts, also while it lacks state, until it has told what it knows of the view. *)
TakePart(i, n) ==
    /\ <<i, n>> \in parts /\ There(n) /\ sent[i].in = at[n].view /\ at[n].reported = 0
    /\ sent' = [sent EXCEPT ![i].with = @ \cup {n}]
    /\ parts' = parts \ {<<i, n>>}
    /\ UNCHANGED <<decided, log, at, store, snapshots, cuts, moves>>

(* The token manager goes to the next view as its node hears of that. *)
Ticks(v) == Stays(views[v].keeper, v) /\ at[views[v].keeper].wish = v

Order(i) ==
    LET v == sent[i].in IN
    /\ v > 0 /\ sent[i].with = sent[i].to
    /\ Ticks(v)
    /\ i \notin Range(log[v]) /\ \A j \in Submitted(sent[i].by) : j < i /\ sent[j].in = v => j \in Range(log[v])
    /\ log' = [log EXCEPT ![v] = Append(@, i)]
    /\ UNCHANGED <<decided, sent, at, store, snapshots, links>>

TakeMarker(n) ==
    /\ There(n) /\ ~IsOutside(n) /\ at[n].reported = 0 /\ ~at[n].keeperOut
    /\ at[n].told < Len(log[at[n].view])
    /\ at' = [at EXCEPT ![n].told = @ + 1]
    /\ UNCHANGED <<decided, order, store, snapshots, links>>

(* How much of the order of its view a node has executed. *)
Executed(n) == Cardinality({i \in DOMAIN store[n].ran : sent[store[n].ran[i]].in = at[n].view})

(* The same with more of it executed. *)
With(stored, isochrons) ==
    IF isochrons = <<>> THEN stored
    ELSE [stored EXCEPT !.ran = @ \o isochrons, !.memory = [x \in DOMAIN @ |-> Last(isochrons)]]

CanExecute(n) == Executes(n) /\ Executed(n) < at[n].told
Execute(n) ==
    /\ CanExecute(n)
    /\ store' = [store EXCEPT ![n] = With(@, SubSeq(log[at[n].view], Executed(n) + 1, at[n].told))]
    /\ UNCHANGED <<decided, order, at, snapshots, links>>

-----------------------------------------------------------------------------
(* Ends, returns, and views. *)

Fate == Fates[fated + 1]

(* What it has sent may be lost on the way to some. *)
Ends(n, lostTo) ==
    /\ fated < Len(Fates) /\ Fate[1] = "ends" /\ n \in Fate[2] \cap up
    /\ fated' = fated + 1
    /\ up' = up \ {n}
    /\ past' = past \cup (IF store[n].whole THEN {[view |-> at[n].view, ran |-> store[n].ran]} ELSE {})
    /\ sent' = [i \in DOMAIN sent |-> IF i \in Kept(n) THEN [sent[i] EXCEPT !.in = Refused] ELSE sent[i]]
    /\ LET isLost(from, to) == to = n \/ (from = n /\ to \in lostTo)
       IN /\ parts' = {part \in parts : ~isLost(sent[part[1]].by, part[2])}
          /\ cuts' = {cut \in cuts : ~isLost(cut.from, cut.to)}
          /\ moves' = {move \in moves : ~isLost(move.from, move.to)}
    /\ at' = [at EXCEPT ![n] = In(0, 0)]
    /\ store' = [store EXCEPT ![n] = Lacking(n)]
    /\ snapshots' = [snapshots EXCEPT ![n] = {}]
    /\ UNCHANGED <<life, views, log>>

(* Another process of the node asks to be let in. Nothing arrives any more that was on its way to or from an earlier one. *)
Returns(n) ==
    /\ fated < Len(Fates) /\ Fate[1] = "returns" /\ n \in Fate[2] \ up
    /\ fated' = fated + 1
    /\ up' = up \cup {n}
    /\ life' = [life EXCEPT ![n] = @ + 1]
    /\ parts' = {part \in parts : n \notin {sent[part[1]].by, part[2]}}
    /\ cuts' = {cut \in cuts : n \notin {cut.from, cut.to}}
    /\ moves' = {move \in moves : n \notin {move.from, move.to}}
    /\ UNCHANGED <<views, past, order, at, store, snapshots>>

LastView == Len(views)

(* Whether node n's last process asks to be let in, or has asked and ended since. *)
Asks(n) == life[n] > 0 /\ \A v \in 1..LastView : ~IsOf(n, v)

(* A quorum of the last view decides on the next one, without some who have ended, and with some who ask. That others have ended may not be known so far. *)
Decide(left, newcomers) ==
    LET there == {n \in Nodes(LastView) : Stays(n, LastView)}
        next == LastView + 1
        keeper == views[LastView].keeper
    IN /\ LastView < MostViews
       /\ IsQuorum(LastView, there)
       /\ there \subseteq left
       /\ \A n \in newcomers : Asks(n)
       /\ left # Nodes(LastView) \/ newcomers # {}
       /\ views' = Append(views,
              [since |-> [n \in left \cup newcomers |-> IF n \in left THEN Since(LastView, n) ELSE next],
               life |-> [n \in left \cup newcomers |-> IF n \in left THEN views[LastView].life[n] ELSE life[n]],
               keeper |-> IF keeper \in left THEN keeper ELSE MinOf(left)])
       /\ UNCHANGED <<up, life, fated, past, order, at, store, snapshots, links>>

Tell(n, v) ==
    /\ There(n) /\ IsOf(n, v) /\ v > at[n].wish
    /\ at' = [at EXCEPT ![n].wish = v, ![n].gathered = <<>>, ![n].holders = {}]
    /\ UNCHANGED <<decided, order, store, snapshots, links>>

(* The farewell of a token manager that goes on says all that it knows, behind its markers; from one whose process has ended nothing more is to come. *)
HearKeeperOut(n) ==
    LET v == at[n].view
        keeper == views[v].keeper
    IN /\ There(n) /\ ~IsOutside(n) /\ ~at[n].keeperOut
       /\ ~Ticks(v)
       /\ Stays(keeper, v) => at[n].reported = 0
       /\ at' = [at EXCEPT ![n].keeperOut = TRUE,
                           ![n].told = IF Stays(keeper, v) THEN Len(log[v]) ELSE @]
       /\ UNCHANGED <<decided, order, store, snapshots, links>>

-----------------------------------------------------------------------------
(* The cut. *)

Cut(kind, from, to, view, next, body) == [kind |-> kind, from |-> from, to |-> to, view |-> view, next |-> next, body |-> body]
Begun(from, to, view) == Cut("begun", from, to, view, view, 0)
Others(n, v) == Nodes(v) \ {n}

MayGather(n) == Changes(n) /\ Coordinator(n) = n /\ ~at[n].agreed /\ at[n].asks # <<at[n].view, at[n].wish>>
Gather(n) ==
    /\ MayGather(n)
    /\ at' = [at EXCEPT ![n].asks = <<at[n].view, at[n].wish>>]
    /\ cuts' = cuts \cup {Cut("gather", n, o, at[n].view, at[n].wish, 0) : o \in Others(n, at[n].wish)}
    /\ UNCHANGED <<decided, order, store, snapshots, parts, moves>>

(* How much of the order of its view node n knows: what it was told, and what it holds for a next view. *)
Known(n) == MaxOf({at[n].told} \cup {at[n].holds[i].order : i \in DOMAIN at[n].holds})

HasHeardKeeperOut(n) == at[n].keeperOut \/ views[at[n].wish].keeper # views[at[n].view].keeper
IsAsked(n) == Coordinator(n) = n \/ (at[n].asked.by = Coordinator(n) /\ at[n].asked.next = at[n].wish)

MayReport(n) == Changes(n) /\ ~at[n].agreed /\ at[n].reported # at[n].wish /\ IsAsked(n) /\ HasHeardKeeperOut(n)
Report(n) ==
    /\ MayReport(n)
    /\ at' = [at EXCEPT ![n].reported = at[n].wish,
                        ![n].gathered = IF Coordinator(n) = n THEN [o \in DOMAIN @ \cup {n} |-> IF o = n THEN Known(n) ELSE @[o]] ELSE @]
    /\ cuts' = IF Coordinator(n) = n THEN cuts
               ELSE cuts \cup {Cut("report", n, Coordinator(n), at[n].view, at[n].wish, Known(n))}
    /\ UNCHANGED <<decided, order, store, snapshots, parts, moves>>

(* A view has begun elsewhere that node n is to begin once it has the state of its present one: who asks for a later one is told so. *)
MaySayAgreed(n) == Changes(n) /\ at[n].agreed /\ Coordinator(n) # n /\ IsAsked(n) /\ HasHeardKeeperOut(n)
SayAgreed(n) ==
    /\ MaySayAgreed(n)
    /\ at' = [at EXCEPT ![n].asked = NotAsked]
    /\ cuts' = cuts \cup {Begun(n, Coordinator(n), Last(at[n].holds).next)}
    /\ UNCHANGED <<decided, order, store, snapshots, parts, moves>>

(* A node that is in no view knows nothing of the one before. *)
MayReportOutside(n) ==
    There(n) /\ IsOutside(n) /\ at[n].asked.by # Nobody /\ at[n].asked.next = at[n].wish /\ at[n].reported # at[n].wish
ReportOutside(n) ==
    /\ MayReportOutside(n)
    /\ at' = [at EXCEPT ![n].reported = at[n].wish]
    /\ cuts' = cuts \cup {Cut("report", n, at[n].asked.by, at[n].asked.view, at[n].wish, 0)}
    /\ UNCHANGED <<decided, order, store, snapshots, parts, moves>>

MayCompose(n) == Changes(n) /\ Coordinator(n) = n /\ DOMAIN at[n].gathered = Nodes(at[n].wish) /\ at[n].holders = {}
Compose(n) ==
    /\ MayCompose(n)
    /\ LET prefix == MaxOf(Range(at[n].gathered))
       IN /\ at' = [at EXCEPT ![n].holds = Append(@, [next |-> at[n].wish, order |-> prefix]), ![n].holders = {n}]
          /\ cuts' = cuts \cup {Cut("prefix", n, o, at[n].view, at[n].wish, prefix) : o \in Others(n, at[n].wish)}
    /\ UNCHANGED <<decided, order, store, snapshots, parts, moves>>

(* Newcomers hold it as all others do. *)
AllHold(n) ==
    /\ Changes(n) /\ ~at[n].agreed /\ Coordinator(n) = n
    /\ at[n].holds # <<>> /\ Last(at[n].holds).next = at[n].wish
    /\ (IF Mistake = "newcomer-not-awaited" THEN Left(n) ELSE Nodes(at[n].wish)) \subseteq at[n].holders
Agree(n) ==
    /\ AllHold(n)
    /\ at' = [at EXCEPT ![n].agreed = TRUE]
    /\ UNCHANGED <<decided, order, store, snapshots, links>>

(* Whether a frame of a node in a view says that the view of the i-th prefix that node n holds has begun. *)
SaysBegun(from, view, n, i) ==
    /\ view = at[n].holds[i].next
    /\ \A j \in i..Len(at[n].holds) : from \in Nodes(at[n].holds[j].next)
IsSaidBegun(n, i) ==
    \/ \E cut \in cuts : cut.to = n /\ SaysBegun(cut.from, cut.view, n, i)
    \/ \E part \in parts : part[2] = n /\ SaysBegun(sent[part[1]].by, sent[part[1]].in, n, i)

HearBegun(n) ==
    /\ There(n)
    /\ \E i \in DOMAIN at[n].holds :
        /\ IsSaidBegun(n, i)
        /\ ~(at[n].agreed /\ i = Len(at[n].holds))
        /\ at' = [at EXCEPT ![n].agreed = TRUE, ![n].holds = SubSeq(@, 1, i)]
    /\ UNCHANGED <<decided, order, store, snapshots, links>>

(* What a view begins with at node n, which has executed `ran` and was in the view `before`: for whom joins with it; and what is kept of earlier ones. *)
Snapshots(n, v, before, stored) ==
    LET joined == {o \in Nodes(v) : Since(v, o) > before}
        kept == {[snapshot EXCEPT !.for = {o \in @ : o \in Nodes(v) /\ Since(v, o) <= snapshot.view}] : snapshot \in snapshots[n]}
        new == [view |-> v, before |-> before, ran |-> stored.ran, memory |-> stored.memory, for |-> joined]
        keeps == Mistake # "one-keeps" \/ n = Eldest(v, Nodes(v))
    IN {snapshot \in kept \cup (IF keeps THEN {new} ELSE {}) : snapshot.for # {}}

(* Node n begins the view whose prefix it holds last, once it has the state of its present one. *)
MayBegin(n) == There(n) /\ at[n].agreed /\ (IsOutside(n) \/ store[n].whole)
Begin(n) ==
    /\ MayBegin(n)
    /\ LET v == Last(at[n].holds).next
           before == at[n].view
           executed == IF IsOutside(n) THEN Lacking(n)
                       ELSE With(store[n], SubSeq(log[before], Executed(n) + 1, Last(at[n].holds).order))
           isCoordinator == ~IsOutside(n) /\ at[n].wish = v /\ Coordinator(n) = n
           (* Who has asked for a later view, and was not answered, is behind, and waits for that. *)
           waits == IF at[n].asked.next > v /\ Mistake # "question-forgotten" THEN {at[n].asked.by} ELSE {}
       IN /\ at' = [at EXCEPT ![n] = [In(v, at[n].wish) EXCEPT !.asks = at[n].asks]]
          /\ store' = [store EXCEPT ![n] = executed]
          /\ snapshots' = [snapshots EXCEPT ![n] = IF IsOutside(n) THEN {} ELSE Snapshots(n, v, before, executed)]
          /\ cuts' = cuts \cup {Begun(n, o, v) : o \in waits \cup (IF isCoordinator THEN Others(n, v) ELSE {})}
          /\ parts' = {part \in parts : part[2] # n \/ sent[part[1]].in >= v}
    /\ UNCHANGED <<decided, order, moves>>

(* A node that is in no view, and one that is, take what is said about a cut. *)
TakeOutside(cut, n) ==
    LET rest == cuts \ {cut}
        isAsked == at[n].asked = [by |-> cut.from, view |-> cut.view, next |-> cut.next]
        isOrder == cut.kind = "prefix" /\ isAsked /\ at[n].reported = cut.next /\ at[n].wish = cut.next
        isHeld == \E i \in DOMAIN at[n].holds : at[n].holds[i].next = cut.next
    IN /\ at' = IF cut.kind = "gather" /\ at[n].asked.next <= cut.next
                THEN [at EXCEPT ![n].asked = [by |-> cut.from, view |-> cut.view, next |-> cut.next], ![n].reported = 0]
                ELSE IF isOrder /\ ~isHeld THEN [at EXCEPT ![n].holds = Append(@, [next |-> cut.next, order |-> 0])]
                ELSE at
       /\ cuts' = IF isOrder THEN rest \cup {Cut("held", n, cut.from, cut.view, cut.next, 0)} ELSE rest

TakeInside(cut, n) ==
    LET rest == cuts \ {cut}
        is(kind) == cut.kind = kind /\ cut.view = at[n].view
        isOfWish == cut.next = at[n].wish /\ at[n].wish > at[n].view
        coordinates == isOfWish /\ Coordinator(n) = n
        isOrder == is("prefix") /\ isOfWish /\ Coordinator(n) = cut.from /\ at[n].reported = at[n].wish
        isBehind == cut.kind \in {"gather", "prefix"} /\ cut.view < at[n].view /\ cut.from \in Nodes(at[n].view)
        isLeftBehind == cut.kind = "begun" /\ cut.view > at[n].view /\ ~at[n].agreed /\ at[n].wish > at[n].view /\ at[n].wish <= cut.view
    IN /\ at' = IF is("gather") /\ at[n].asked.next <= cut.next
                THEN [at EXCEPT ![n].asked = [by |-> cut.from, view |-> cut.view, next |-> cut.next]]
                ELSE IF is("report") /\ coordinates
                THEN [at EXCEPT ![n].gathered = [o \in DOMAIN @ \cup {cut.from} |-> IF o = cut.from THEN cut.body ELSE @[o]]]
                ELSE IF isOrder THEN [at EXCEPT ![n].holds = Append(@, [next |-> cut.next, order |-> cut.body])]
                ELSE IF is("held") /\ coordinates /\ at[n].holders # {} THEN [at EXCEPT ![n].holders = @ \cup {cut.from}]
                ELSE IF isLeftBehind THEN [at EXCEPT ![n].out = TRUE]
                ELSE at
       /\ cuts' = rest \cup (IF isOrder THEN {Cut("held", n, cut.from, cut.view, cut.next, 0)} ELSE {})
                       \cup (IF isBehind THEN {Begun(n, cut.from, at[n].view)} ELSE {})

(* Of the questions of one node the earlier one comes first: a newcomer answers the last one that came. *)
IsOvertaking(cut) ==
    cut.kind = "gather" /\ \E other \in cuts :
        other.kind = "gather" /\ other.from = cut.from /\ other.to = cut.to /\ other.view < cut.view

TakeCut(cut) ==
    LET n == cut.to IN
    /\ cut \in cuts /\ There(n) /\ ~IsOvertaking(cut)
    /\ IsOutside(n) \/ cut.kind = "begun" \/ cut.view <= at[n].view
    /\ \A i \in DOMAIN at[n].holds : ~SaysBegun(cut.from, cut.view, n, i)
    /\ IF IsOutside(n) THEN TakeOutside(cut, n) ELSE TakeInside(cut, n)
    /\ UNCHANGED <<decided, order, store, snapshots, parts, moves>>

-----------------------------------------------------------------------------
(* The state. *)

Move(kind, from, to, view, body) == [kind |-> kind, from |-> from, to |-> to, view |-> view, body |-> body]
Nothing == [before |-> 0, memory |-> <<>>, ran |-> <<>>]

(* Variables of which nobody who was in the view before had a copy. *)
LostTo(n) ==
    LET v == at[n].view
        hadOne(x) == \E o \in CopiesOf[x] \cap Nodes(v) : Since(v, o) <= store[n].before
    IN IF store[n].before = 0 THEN {} ELSE {x \in store[n].lacks : ~hadOne(x)}

(* Who may have something of what node n lacks, and was not asked. *)
Sources(n, lacks) ==
    LET v == at[n].view IN
    {o \in Others(n, v) \ store[n].tried :
        /\ store[n].before = 0 \/ Since(v, o) <= store[n].before
        /\ ~store[n].program \/ \E x \in lacks : o \in CopiesOf[x]}

MaySeek(n) == There(n) /\ ~IsOutside(n) /\ ~store[n].whole /\ store[n].source = Nobody

(* Node n asks the eldest; it has all, or nobody else has. *)
Seek(n) ==
    /\ MaySeek(n)
    /\ LET v == at[n].view
           lost == LostTo(n)
           lacks == store[n].lacks \ lost
           sources == Sources(n, lacks)
           source == Eldest(v, sources)
           known == [store[n] EXCEPT !.lacks = lacks, !.memory = [x \in DOMAIN @ |-> IF x \in lost THEN Lost ELSE @[x]]]
           isWhole == lacks = {} /\ known.program
       IN /\ store' = [store EXCEPT ![n] =
                IF isWhole THEN [known EXCEPT !.whole = TRUE, !.tried = {}]
                ELSE IF sources = {} THEN known ELSE [known EXCEPT !.source = source]]
          /\ at' = IF isWhole \/ sources # {} THEN at ELSE [at EXCEPT ![n].out = TRUE]
          /\ moves' = moves \cup (IF isWhole THEN {Move("has-all", n, o, v, Nothing) : o \in Others(n, v)}
                                  ELSE IF sources = {} THEN {}
                                  ELSE {Move("wants-variables", n, source, v, Nothing)})
    /\ UNCHANGED <<decided, order, snapshots, parts, cuts>>

(* Node n hears that whom it has asked is gone. *)
LoseSource(n) ==
    /\ There(n) /\ store[n].source # Nobody /\ ~Stays(store[n].source, at[n].view)
    /\ store' = [store EXCEPT ![n].source = Nobody, ![n].tried = @ \cup {store[n].source}]
    /\ UNCHANGED <<decided, order, at, snapshots, links>>

(* What node n has for one that joined with a view. *)
For(n, who, view) == {snapshot \in snapshots[n] : snapshot.view = view /\ who \in snapshot.for}
IsToCome(n, view) == ~at[n].out /\ ~IsOutside(n) /\ view > at[n].view

(* Node n is asked for state: it tells what a view began with, or that it has none. *)
Give(move) ==
    LET n == move.to
        snapshot == CHOOSE snapshot \in For(n, move.from, move.view) : TRUE
        given == IF Mistake = "state-of-later" THEN [snapshot EXCEPT !.ran = store[n].ran, !.memory = store[n].memory] ELSE snapshot
        copies == [x \in Copied(n) \cap Copied(move.from) |-> given.memory[x]]
        answer == IF For(n, move.from, move.view) = {} THEN Move("lacks", n, move.from, move.view, Nothing)
                  ELSE IF move.kind = "wants-variables"
                  THEN Move("variables", n, move.from, move.view, [Nothing EXCEPT !.before = given.before, !.memory = copies])
                  ELSE Move("program", n, move.from, move.view, [Nothing EXCEPT !.ran = given.ran])
    IN /\ move.kind \in {"wants-variables", "wants-program"}
       /\ For(n, move.from, move.view) # {} \/ ~IsToCome(n, move.view)
       /\ moves' = (moves \ {move}) \cup {answer}
       /\ UNCHANGED <<store, snapshots>>

(* It is told that a newcomer has all. *)
Forget(move) ==
    LET n == move.to
        without(snapshot) == [snapshot EXCEPT !.for = @ \ {move.from}]
        changed == (snapshots[n] \ For(n, move.from, move.view)) \cup {without(snapshot) : snapshot \in For(n, move.from, move.view)}
    IN /\ move.kind = "has-all"
       /\ For(n, move.from, move.view) # {} \/ ~IsToCome(n, move.view)
       /\ moves' = moves \ {move}
       /\ snapshots' = [snapshots EXCEPT ![n] = {snapshot \in changed : snapshot.for # {}}]
       /\ UNCHANGED store

(* A newcomer gets some of the state from whom it has asked. *)
Restore(move) ==
    LET n == move.to
        from == move.from
        isAwaited == store[n].source = from /\ move.view = at[n].view
        got == store[n].lacks \cap DOMAIN move.body.memory
        restored == [store[n] EXCEPT !.before = move.body.before, !.lacks = @ \ got,
                                     !.memory = [x \in DOMAIN @ |-> IF x \in got THEN move.body.memory[x] ELSE @[x]]]
        toldAll(stored) == [stored EXCEPT !.source = Nobody, !.tried = @ \cup {from}]
        asksOn == isAwaited /\ move.kind = "variables" /\ ~store[n].program
    IN /\ move.kind \in {"variables", "program", "lacks"}
       /\ store' = [store EXCEPT ![n] =
             CASE ~isAwaited -> @
               [] asksOn -> restored
               [] isAwaited /\ move.kind = "variables" /\ ~asksOn -> toldAll(restored)
               [] isAwaited /\ move.kind = "program" -> toldAll([@ EXCEPT !.ran = move.body.ran, !.program = TRUE])
               [] isAwaited /\ move.kind = "lacks" -> toldAll(@)]
       /\ moves' = (moves \ {move}) \cup (IF asksOn THEN {Move("wants-program", n, from, move.view, Nothing)} ELSE {})
       /\ UNCHANGED snapshots

TakeMove(move) ==
    /\ move \in moves /\ move.to \in up
    /\ Give(move) \/ Forget(move) \/ Restore(move)
    /\ UNCHANGED <<decided, order, at, parts, cuts>>

-----------------------------------------------------------------------------
MustWork(n) ==
    \/ CanExecute(n) \/ MayBegin(n)
    \/ MayGather(n) \/ MayReport(n) \/ MaySayAgreed(n) \/ MayReportOutside(n) \/ MayCompose(n) \/ AllHold(n)
    \/ MaySeek(n)

(* What a node does by itself, behind what it takes. *)
Work(n) ==
    \/ Execute(n) \/ Begin(n)
    \/ Gather(n) \/ Report(n) \/ SayAgreed(n) \/ ReportOutside(n) \/ Compose(n) \/ Agree(n)
    \/ Seek(n)

Waits == {n \in Node : MustWork(n)}

Goes ==
    \/ \E left \in SUBSET Nodes(LastView), newcomers \in SUBSET (Node \ Nodes(LastView)) : Decide(left, newcomers)
    \/ \E n \in Node : \/ \E v \in 2..LastView : Tell(n, v)
                       \/ Submit(n) \/ TakeMarker(n) \/ HearKeeperOut(n) \/ HearBegun(n) \/ LoseSource(n)
    \/ \E part \in parts : TakePart(part[1], part[2])
    \/ \E i \in DOMAIN sent : Order(i)
    \/ \E cut \in cuts : TakeCut(cut)
    \/ \E move \in moves : TakeMove(move)

Works == IF Waits # {} THEN Work(MinOf(Waits)) ELSE Goes

Befalls ==
    /\ Waits = {}
    /\ \E n \in Node : Returns(n) \/ PutTogether(n) \/ \E lostTo \in SUBSET (Node \ {n}) : Ends(n, lostTo)

(* Where the model may stop: too few are left of the last view, or the views are used up, or all of the last view have begun it, have its state and have executed the same. *)
Settled ==
    LET there == {n \in Nodes(LastView) : Stays(n, LastView)}
        asks == {n \in Node \ Nodes(LastView) : There(n) /\ IsOutside(n)}
        isUsedUp == LastView = MostViews /\ (there # Nodes(LastView) \/ asks # {})
        hasAll(n) == at[n].view = LastView /\ store[n].whole /\ Kept(n) = {}
        ran(n) == {i \in DOMAIN sent : sent[i].in = LastView} \subseteq Range(store[n].ran)
    IN \/ ~IsQuorum(LastView, there)
       \/ isUsedUp
       \/ there = Nodes(LastView) /\ asks = {} /\ \A n \in there : hasAll(n) /\ ran(n)

Rests == Settled /\ UNCHANGED vars
Next == Works \/ Befalls \/ Rests
Spec == Init /\ [][Next]_vars
FairSpec == Spec /\ WF_vars(Works)

-----------------------------------------------------------------------------
(* What must hold. *)

InViews(n) == There(n) /\ store[n].whole /\ ~IsOutside(n)

(* What of a history was executed in views before view v. *)
Before(ran, v) == SelectSeq(ran, LAMBDA i : sent[i].in < v)
IsPrefix(a, b) == Len(a) <= Len(b) /\ SubSeq(b, 1, Len(a)) = a

Histories == {[view |-> at[n].view, ran |-> store[n].ran] : n \in {n \in Node : InViews(n)}}

(* Whoever has begun a view has executed the same of all those before it, or has it in the state that it was given: newcomers, and processes that have ended. *)
SamePrefix ==
    \A a, b \in Histories \cup past : a.view <= b.view => Before(a.ran, a.view) = Before(b.ran, a.view)

(* All who are there have executed a prefix of one history. *)
OneHistory == \A a, b \in Histories : IsPrefix(a.ran, b.ran) \/ IsPrefix(b.ran, a.ran)

(* Nobody executes anything twice, or in another order than the token manager said. *)
InOrder ==
    \A n \in Node : InViews(n) =>
        LET ran == store[n].ran IN
        /\ \A i, j \in DOMAIN ran : i < j => ran[i] # ran[j] /\ sent[ran[i]].in <= sent[ran[j]].in
        /\ \A v \in 1..at[n].view : IsPrefix(SelectSeq(ran, LAMBDA i : sent[i].in = v), log[v])

(* A newcomer executes nothing before it has the state. *)
NothingBeforeState == \A n \in Node : ~store[n].whole /\ ~store[n].program => store[n].ran = <<>>

(* What is in the order of a view goes to all who are in it, and was put together behind the last one who has joined. *)
ToAll == \A v \in DOMAIN log : \A i \in Range(log[v]) : sent[i].to = Nodes(v) /\ ~HasGrownSince(v, sent[i].put)

(* Whoever has begun the last view: all others of it hold its beginning, or have begun it as well. *)
HeldByAll ==
    \A n \in Node : There(n) /\ at[n].view = LastView =>
        \A o \in Nodes(LastView) : Stays(o, LastView) =>
            at[o].view = LastView \/ (at[o].holds # <<>> /\ Last(at[o].holds).next = LastView)

(* All who keep what a view began with keep the same. *)
OneSnapshot ==
    \A n, o \in Node : \A a \in snapshots[n], b \in snapshots[o] :
        a.view = b.view => a.before = b.before /\ a.ran = b.ran

(* Copies hold what was executed last; or the variable is lost, for all who have one. *)
RightCopies ==
    \A n \in Node : InViews(n) => \A x \in Copied(n) :
        LET ran == store[n].ran
            last == IF ran = <<>> THEN 0 ELSE Last(ran)
        IN /\ store[n].memory[x] \in {last, Lost}
           /\ \A o \in Node : InViews(o) /\ x \in Copied(o) /\ store[o].ran = ran => store[o].memory[x] = store[n].memory[x]

(* A variable is lost only with its last copy, and a newcomer is given up only if nobody is left who has what it lacks. *)
Were(n) == {o \in Nodes(at[n].view) : Stays(o, at[n].view) /\ Since(at[n].view, o) < Since(at[n].view, n)}
LostWithTheLast ==
    \A n \in Node : n \in up /\ ~IsOutside(n) =>
        /\ \A x \in Copied(n) : store[n].memory[x] = Lost => \A o \in CopiesOf[x] \cap Were(n) : Since(at[n].view, o) > 0
        /\ at[n].out => Were(n) = {} \/ \E x \in store[n].lacks : CopiesOf[x] \cap Were(n) = {}

(* While enough are left to decide on views, one of them has the state. (Newcomers that are more than half can outvote who has it: no model has so many.) *)
SomebodyHasState ==
    LET there == {n \in Nodes(LastView) : Stays(n, LastView)} IN
    IsQuorum(LastView, there) => \E n \in there : InViews(n)

(* Under fairness all is settled in the end. *)
Progress == <>[]Settled
=============================================================================
