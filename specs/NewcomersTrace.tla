--------------------------- MODULE NewcomersTrace ---------------------------
(***************************************************************************)
(* Whether what the product's members did in a run, in which some end and  *)
(* others come back, is a behaviour of Newcomers: each step of the trace   *)
(* has to be one that Newcomers allows there, with the same isochrons,     *)
(* views and state, and all is done in the end. A step that is none is a   *)
(* deadlock of this specification. Module Observed is made of a trace by   *)
(* observed.py.                                                            *)
(*                                                                         *)
(* What a node does by itself follows at once from what it has taken, as   *)
(* in Newcomers; that it executes is a step of the trace, as a node that   *)
(* misses another one executes nothing more until the view ends.           *)
(***************************************************************************)
EXTENDS Newcomers, Observed

VARIABLES
    line,   \* The step of the trace that is next.
    gone,   \* Of each node: who it has heard to be gone.
    said    \* All that was said of views that have begun: it may be said again.

Alike(seq, set) == Range(seq) = set

(* The first so many isochrons of the order of a view. *)
First(v, count) == SubSeq(log[v], 1, count)
Keeper(n) == views[at[n].view].keeper

-----------------------------------------------------------------------------
(* What follows of itself, of each node in one order. *)

(* A token manager says farewell to the node that it is beside within one step. *)
HearsOwnKeeper(n) ==
    /\ There(n) /\ ~IsOutside(n) /\ Keeper(n) = n /\ Stays(n, at[n].view)
    /\ at[n].wish > at[n].view /\ ~at[n].keeperOut /\ at[n].reported = 0

(* Whom it has asked is known to be gone, or is not in the view that comes. *)
MissesSource(n) ==
    /\ There(n) /\ store[n].source # Nobody
    /\ \/ store[n].source \in gone[n]
       \/ at[n].wish > at[n].view /\ store[n].source \notin Nodes(at[n].wish)

Follows(n) ==
    \/ HearsOwnKeeper(n) \/ MissesSource(n) \/ MayBegin(n) \/ MaySeek(n)
    \/ MayGather(n) \/ MayReport(n) \/ MaySayAgreed(n) \/ MayReportOutside(n) \/ MayCompose(n) \/ AllHold(n)

Follow(n) ==
    CASE HearsOwnKeeper(n)   -> HearKeeperOut(n)
      [] MissesSource(n)     -> LoseSource(n)
      [] MaySeek(n)          -> Seek(n)
      [] MayBegin(n)         -> Begin(n)
      [] MayGather(n)        -> Gather(n)
      [] MayReport(n)        -> Report(n)
      [] MaySayAgreed(n)     -> SayAgreed(n)
      [] MayReportOutside(n) -> ReportOutside(n)
      [] MayCompose(n)       -> Compose(n)
      [] AllHold(n)          -> Agree(n)

-----------------------------------------------------------------------------
(* What the trace says of a step is what the specification makes of it. *)

Decides(s) ==
    LET since == [n \in Range(s.nodes) |->
            IF \E pair \in Range(s.joined) : pair[1] = n THEN (CHOOSE pair \in Range(s.joined) : pair[1] = n)[2] ELSE 0]
        joined == {n \in Range(s.nodes) : since[n] = s.view}
    IN /\ s.view = LastView + 1
       /\ Decide(Range(s.nodes) \ joined, joined)
       /\ views'[s.view].since = since /\ views'[s.view].keeper = s.keeper

(* A frame of a later view. Whether that says that a view has begun is for the specification to say. *)
Hears(n, from, v) ==
    LET says(i) == SaysBegun(from, v, n, i) /\ ~(at[n].agreed /\ i = Len(at[n].holds))
    IN IF There(n) /\ \E i \in DOMAIN at[n].holds : says(i)
       THEN HearBegun(n) /\ Last(at'[n].holds).next = v
       ELSE UNCHANGED vars

(* Nothing more is to come from a token manager: it is gone, or in a later view. *)
HearsOut(n, keeper) ==
    IF There(n) /\ ~IsOutside(n) /\ Keeper(n) = keeper /\ ~at[n].keeperOut THEN HearKeeperOut(n) ELSE UNCHANGED vars

(* Its farewell tells what its markers have not. *)
HearsFarewell(n, keeper, known) ==
    IF at[n].reported # 0 THEN UNCHANGED vars
    ELSE /\ Keeper(n) = keeper
         /\ known \subseteq Range(log[at[n].view])
         /\ Range(SubSeq(log[at[n].view], at[n].told + 1, Len(log[at[n].view]))) \subseteq known
         /\ HearKeeperOut(n)

IsSaid(s, cut) ==
    /\ cut.kind = s.kind /\ cut.from = s.from /\ cut.to = s.node /\ cut.view = s.view
    /\ s.kind # "begun" => cut.next = s.next
    /\ s.kind = "report" => Alike(s.known, Range(First(s.view, cut.body)))
    /\ s.kind = "prefix" => s.order = First(s.view, cut.body)

(* That a view has begun may be said twice, and is kept where the node is to begin it and lacks state. *)
TakesCut(s) ==
    IF s.kind = "begun" /\ ~\E cut \in cuts : IsSaid(s, cut)
    THEN (\E cut \in said : IsSaid(s, cut)) /\ UNCHANGED vars
    ELSE \E cut \in cuts :
        /\ IsSaid(s, cut)
        /\ IF \E i \in DOMAIN at[s.node].holds : SaysBegun(cut.from, cut.view, s.node, i) THEN s.kind = "begun" /\ UNCHANGED vars
           ELSE TakeCut(cut)

TakesMove(s) ==
    \E move \in moves :
        /\ move.kind = s.kind /\ move.from = s.from /\ move.to = s.node /\ move.view = s.view
        /\ s.kind = "variables" =>
              /\ move.body.before = s.before
              /\ DOMAIN move.body.memory = {copy[1] : copy \in Range(s.copies)}
              /\ \A copy \in Range(s.copies) : move.body.memory[copy[1]] = copy[2]
        /\ s.kind = "program" => move.body.ran = s.ran
        /\ TakeMove(move)

(* It may begin the next one as well before anything else comes. *)
HasBegun(s) ==
    \/ at[s.node].view = s.view /\ store[s.node].ran = s.ran
    \/ at[s.node].view > s.view

IsStep(s) ==
    CASE s.step = "put"      -> /\ at[s.node].view = s.view /\ PutTogether(s.node)
                                /\ Len(sent') = s.isochron /\ Alike(s.to, Last(sent').to)
      [] s.step = "submit"   -> Submit(s.node) /\ MinOf(Kept(s.node)) = s.isochron /\ sent'[s.isochron].in = s.view
      [] s.step = "refused"  -> IF There(s.node)
                                THEN Submit(s.node) /\ MinOf(Kept(s.node)) = s.isochron /\ sent'[s.isochron].in = Refused
                                ELSE UNCHANGED vars
      [] s.step = "part"     -> TakePart(s.isochron, s.node)
      [] s.step = "order"    -> Order(s.isochron)
      [] s.step = "marker"   -> IF at[s.node].reported # 0 THEN UNCHANGED vars
                                ELSE TakeMarker(s.node) /\ log[at[s.node].view][at'[s.node].told] = s.isochron
      [] s.step = "execute"  -> /\ Execute(s.node)
                                /\ store'[s.node].ran = store[s.node].ran \o s.isochrons
      [] s.step = "farewell" -> HearsFarewell(s.node, s.from, Range(s.known))
      [] s.step = "gone on"  -> HearsOut(s.node, s.from)
      [] s.step = "down"     -> HearsOut(s.node, s.peer)
      [] s.step = "up"       -> UNCHANGED vars
      [] s.step = "ends"     -> Ends(s.node, {})
      [] s.step = "returns"  -> Returns(s.node)
      [] s.step = "decide"   -> Decides(s)
      [] s.step = "tell"     -> s.view <= LastView /\ Tell(s.node, s.view)
      [] s.step = "hears"    -> Hears(s.node, s.from, s.view)
      [] s.step = "cut"      -> TakesCut(s)
      [] s.step = "move"     -> TakesMove(s)
      [] s.step = "begin"    -> HasBegun(s) /\ UNCHANGED vars
      [] s.step = "whole"    -> HasBegun(s) /\ store[s.node].whole /\ UNCHANGED vars
      [] s.step = "ended"    -> at[s.node].out /\ UNCHANGED vars

(* What a node hears of others, for whether it asks them for state. *)
HeardGone(s) ==
    CASE s.step = "down"    -> [gone EXCEPT ![s.node] = @ \cup {s.peer}]
      [] s.step = "up"      -> [gone EXCEPT ![s.node] = @ \ {s.peer}]
      [] s.step = "returns" -> [gone EXCEPT ![s.node] = {}]
      [] OTHER              -> gone

(* All are in the last view and have executed the same, and what was to be said to who is there has come. *)
AllDone ==
    LET nodes == Nodes(LastView) IN
    /\ \A n \in nodes : Stays(n, LastView) /\ at[n].view = LastView /\ store[n].whole /\ Kept(n) = {}
    /\ \A n \in nodes, i \in DOMAIN sent : sent[i].in = LastView => i \in Range(store[n].ran)
    /\ up \subseteq nodes
    /\ \A cut \in cuts : cut.kind # "begun" => ~({cut.from, cut.to} \subseteq up)
    /\ \A move \in moves : ~({move.from, move.to} \subseteq up)

Following == {n \in Node : Follows(n)}

TraceNext ==
    /\ IF Following # {} THEN Follow(MinOf(Following)) /\ UNCHANGED <<line, gone>>
       ELSE IF line <= Len(Steps) THEN IsStep(Steps[line]) /\ line' = line + 1 /\ gone' = HeardGone(Steps[line])
       ELSE AllDone /\ UNCHANGED <<vars, line, gone>>
    /\ said' = said \cup {cut \in cuts' : cut.kind = "begun"}

TraceSpec ==
    /\ Init /\ line = 1 /\ gone = [n \in Node |-> {}] /\ said = {}
    /\ [][TraceNext]_<<vars, line, gone, said>>
=============================================================================
