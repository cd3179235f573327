------------------------------- MODULE Pulses -------------------------------
(***************************************************************************)
(* One view of isochrons: decision 56. Nodes send parts to each other and  *)
(* announce isochrons to the token manager of their switch; managers stamp *)
(* what all receivers have, pass tokens to the managers beside them, and   *)
(* tell their nodes what they execute in the pulses that have ended.       *)
(*                                                                         *)
(* Acknowledgements may overtake each other here, which links of the       *)
(* product do not let happen; all else may not. Nothing fails: see         *)
(* ViewChange.                                                             *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
    Node,       \* Numbers: they are part of stamps.
    Manager,    \* One for each switch.
    SwitchOf,   \* The switch of each node.
    Wire,       \* Pairs {a, b} of switches that are joined: a tree.
    Submits,    \* Of each node: the sets of receivers of its isochrons in a model, one after the other, of which it chooses.
    Mistake     \* "none", or a mistake that is to be found.

VARIABLES
    rank,       \* The isochron that each node submitted last.
    sent,       \* Of each isochron <<sender, rank>>: [to, after], its receivers and what its sender had executed last.
    parts,      \* <<receiver, sender, rank>>: parts under way.
    held,       \* Of each node: the isochrons of others that it has a part of.
    acks,       \* <<receiver, sender, rank>>: words to the sender's manager that a part has come, under way.
    announces,  \* From each node to its manager: ranks, under way.
    waiting,    \* At its manager: ranks of each node that were announced and not stamped.
    has,        \* At managers: acknowledgements that have come, of what was not stamped.
    ahead,      \* At managers: <<receiver, sender, rank>>, what was stamped before its only receiver has said that it has it (decision 70).
    stamped,    \* Of each node: the pulse that was stamped last.
    clock,      \* The pulse of each manager: the number of its last token.
    wanted,     \* The pulse up to which it goes.
    got,        \* Of <<manager, neighbour>>: the token that came last.
    tokens,     \* From <<manager, neighbour>>: tokens under way.
    carry,      \* Of <<manager, neighbour>>: what the next token carries.
    calendar,   \* Of each manager: what its nodes execute in pulses that have not ended.
    markers,    \* To each node: stamps, under way.
    told,       \* Of each node: the stamps that it was told, in order.
    executed    \* Of each node: those that it has executed.

ofNodes == <<rank, sent, parts, held, told, executed>>
ofManagers == <<waiting, has, ahead, stamped, clock, wanted, got, carry, calendar>>
links == <<acks, announces, tokens, markers>>
pulseVars == <<ofNodes, ofManagers, links>>

-----------------------------------------------------------------------------
(* The tree. *)

Joined == {pair \in Manager \X Manager : {pair[1], pair[2]} \in Wire}
Beside(m) == {o \in Manager : <<m, o>> \in Joined}

RECURSIVE Within(_, _)
Within(m, hops) ==
    IF hops = 0 THEN {m} ELSE LET near == Within(m, hops - 1) IN near \cup UNION {Beside(o) : o \in near}

Hops == [pair \in Manager \X Manager |->
    CHOOSE d \in 0..Cardinality(Manager) :
        pair[2] \in Within(pair[1], d) /\ (d = 0 \/ pair[2] \notin Within(pair[1], d - 1))]

(* Whether the way from switch m to switch far begins with the wire to o. *)
Leads(m, o, far) == m # far /\ Hops[<<o, far>>] < Hops[<<m, far>>]

-----------------------------------------------------------------------------
(* Stamps <<pulse, sender, rank>>, and their order. *)

Before(a, b) ==
    \/ a[1] < b[1]
    \/ a[1] = b[1] /\ a[2] < b[2]
    \/ a[1] = b[1] /\ a[2] = b[2] /\ a[3] < b[3]

Max(a, b) == IF a > b THEN a ELSE b
MaxOf(set) == CHOOSE x \in set : \A y \in set : y <= x
Range(seq) == {seq[i] : i \in 1..Len(seq)}

RECURSIVE Sorted(_)
Sorted(set) ==
    IF set = {} THEN <<>>
    ELSE LET first == CHOOSE x \in set : \A y \in set \ {x} : Before(x, y)
         IN <<first>> \o Sorted(set \ {first})

Isochron(stamp) == <<stamp[2], stamp[3]>>
To(isochron) == sent[isochron].to
(* The stamps of a set whose isochrons have receivers at switches that are so. *)
With(stamps, is(_)) == {s \in stamps : \E t \in To(Isochron(s)) : is(SwitchOf[t])}

-----------------------------------------------------------------------------
PulseInit ==
    /\ rank = [n \in Node |-> 0]
    /\ sent = <<>>
    /\ parts = {}
    /\ held = [n \in Node |-> {}]
    /\ acks = {}
    /\ announces = [n \in Node |-> <<>>]
    /\ waiting = [n \in Node |-> <<>>]
    /\ has = {}
    /\ ahead = {}
    /\ stamped = [n \in Node |-> 0]
    /\ clock = [m \in Manager |-> 0]
    /\ wanted = [m \in Manager |-> 0]
    /\ got = [pair \in Joined |-> 0]
    /\ tokens = [pair \in Joined |-> <<>>]
    /\ carry = [pair \in Joined |-> {}]
    /\ calendar = [m \in Manager |-> {}]
    /\ markers = [n \in Node |-> <<>>]
    /\ told = [n \in Node |-> <<>>]
    /\ executed = [n \in Node |-> <<>>]

(* Steps of nodes. *)

(* Node n submits its isochron r for the nodes `to`. *)
Submit(n, r, to) ==
    /\ r > rank[n]
    /\ to # {}
    /\ LET last == IF executed[n] = <<>> THEN <<0, 0, 0>> ELSE executed[n][Len(executed[n])]
           one == [to |-> to, after |-> last]
       IN sent' = [i \in DOMAIN sent \cup {<<n, r>>} |-> IF i = <<n, r>> THEN one ELSE sent[i]]
    /\ rank' = [rank EXCEPT ![n] = r]
    /\ parts' = parts \cup {<<t, n, r>> : t \in to \ {n}}
    /\ announces' = [announces EXCEPT ![n] = Append(@, r)]
    /\ UNCHANGED <<held, told, executed, acks, tokens, markers, ofManagers>>

TakePart(t, n, r) ==
    /\ <<t, n, r>> \in parts /\ \A q \in 1..(r - 1) : <<t, n, q>> \notin parts
    /\ parts' = parts \ {<<t, n, r>>}
    /\ held' = [held EXCEPT ![t] = @ \cup {<<n, r>>}]
    /\ acks' = acks \cup {<<t, n, r>>}
    /\ UNCHANGED <<rank, sent, told, executed, announces, tokens, markers, ofManagers>>

TakeMarker(n) ==
    /\ markers[n] # <<>>
    /\ told' = [told EXCEPT ![n] = Append(@, Head(markers[n]))]
    /\ markers' = [markers EXCEPT ![n] = Tail(@)]
    /\ UNCHANGED <<rank, sent, parts, held, executed, acks, announces, tokens, ofManagers>>

IsHere(n, isochron) == isochron[1] = n \/ isochron \in held[n]

Execute(n) ==
    /\ Len(executed[n]) < Len(told[n])
    /\ LET next == told[n][Len(executed[n]) + 1]
       IN /\ IsHere(n, Isochron(next))
          /\ executed' = [executed EXCEPT ![n] = Append(@, next)]
    /\ UNCHANGED <<rank, sent, parts, held, told, ofManagers, links>>

(* Steps of token managers. *)

TakeAnnounce(n) ==
    /\ announces[n] # <<>>
    /\ waiting' = [waiting EXCEPT ![n] = Append(@, Head(announces[n]))]
    /\ announces' = [announces EXCEPT ![n] = Tail(@)]
    /\ UNCHANGED <<ofNodes, has, ahead, stamped, clock, wanted, got, carry, calendar, acks, tokens, markers>>

TakeAck(t, n, r) ==
    /\ <<t, n, r>> \in acks
    /\ acks' = acks \ {<<t, n, r>>}
    /\ IF <<t, n, r>> \in ahead
       THEN ahead' = ahead \ {<<t, n, r>>} /\ has' = has
       ELSE has' = has \cup {<<t, n, r>>} /\ ahead' = ahead
    /\ UNCHANGED <<ofNodes, waiting, stamped, clock, wanted, got, carry, calendar, announces, tokens, markers>>

Missing(n, r) == {t \in To(<<n, r>>) \ {n} : <<t, n, r>> \notin has}

(* Whether what node n announced first can be stamped: all receivers have it, or its only one is at this switch. While another one's only receiver *)
(* may lack that, those for others wait.                                                                                                           *)
MayStamp(n) ==
    /\ waiting[n] # <<>>
    /\ LET r == Head(waiting[n])
           to == To(<<n, r>>)
           isForOne == Cardinality(to) = 1 /\ \A t \in to : SwitchOf[t] = SwitchOf[n]
       IN /\ Mistake = "stamped-before-received" \/ Missing(n, r) = {} \/ isForOne
          /\ Mistake = "stamped-ahead" \/ \A one \in ahead : one[2] = n => to = {one[1]}

Farthest(n, r) ==
    IF Mistake = "nearest-distance" THEN 1
    ELSE MaxOf({Hops[<<SwitchOf[n], SwitchOf[t]>>] + 1 : t \in To(<<n, r>>)})

Stamp(n) ==
    /\ MayStamp(n)
    /\ LET r == Head(waiting[n])
           m == SwitchOf[n]
           pulse == Max(stamped[n], clock[m] + Farthest(n, r))
           stamp == <<pulse, n, r>>
       IN /\ stamped' = [stamped EXCEPT ![n] = pulse]
          /\ wanted' = [wanted EXCEPT ![m] = Max(@, pulse)]
          /\ calendar' = [calendar EXCEPT ![m] = @ \cup With({stamp}, LAMBDA far : far = m)]
          /\ carry' = [pair \in Joined |->
                IF pair[1] # m THEN carry[pair]
                ELSE carry[pair] \cup With({stamp}, LAMBDA far : Leads(m, pair[2], far))]
          /\ has' = {one \in has : <<one[2], one[3]>> # <<n, r>>}
          /\ ahead' = ahead \cup {<<t, n, r>> : t \in (IF Cardinality(To(<<n, r>>)) = 1 THEN Missing(n, r) ELSE {})}
    /\ waiting' = [waiting EXCEPT ![n] = Tail(@)]
    /\ UNCHANGED <<ofNodes, clock, got, links>>

EndPulse(m) ==
    /\ clock[m] < wanted[m]
    /\ Mistake = "token-early" \/ \A o \in Beside(m) : got[<<m, o>>] >= clock[m]
    /\ clock' = [clock EXCEPT ![m] = @ + 1]
    /\ tokens' = [pair \in Joined |->
          IF pair[1] # m \/ Mistake = "token-lost" THEN tokens[pair]
          ELSE Append(tokens[pair], [number |-> clock[m] + 1, entries |-> carry[pair]])]
    /\ carry' = [pair \in Joined |-> IF pair[1] = m THEN {} ELSE carry[pair]]
    /\ LET last == clock[m] + IF Mistake = "drained-early" THEN 2 ELSE 1
           due == {s \in calendar[m] : s[1] <= last}
       IN /\ calendar' = [calendar EXCEPT ![m] = @ \ due]
          /\ markers' = [n \in Node |->
                IF SwitchOf[n] # m THEN markers[n]
                ELSE markers[n] \o Sorted({s \in due : n \in To(Isochron(s))})]
    /\ UNCHANGED <<ofNodes, waiting, has, ahead, stamped, wanted, got, acks, announces>>

TakeToken(m, o) ==
    /\ tokens[<<o, m>>] # <<>>
    /\ LET token == Head(tokens[<<o, m>>])
           pulses == {s[1] : s \in token.entries} \cup {token.number, wanted[m]}
       IN /\ got' = [got EXCEPT ![<<m, o>>] = token.number]
          /\ wanted' = [wanted EXCEPT ![m] = MaxOf(pulses)]
          /\ calendar' = [calendar EXCEPT ![m] = @ \cup With(token.entries, LAMBDA far : far = m)]
          /\ carry' = [pair \in Joined |->
                IF pair[1] # m \/ pair[2] = o THEN carry[pair]
                ELSE carry[pair] \cup With(token.entries, LAMBDA far : Leads(m, pair[2], far))]
    /\ tokens' = [tokens EXCEPT ![<<o, m>>] = Tail(@)]
    /\ UNCHANGED <<ofNodes, waiting, has, ahead, stamped, clock, acks, announces, markers>>

-----------------------------------------------------------------------------
Works ==
    \/ \E part \in parts : TakePart(part[1], part[2], part[3])
    \/ \E ack \in acks : TakeAck(ack[1], ack[2], ack[3])
    \/ \E n \in Node : TakeAnnounce(n) \/ Stamp(n) \/ TakeMarker(n) \/ Execute(n)
    \/ \E m \in Manager : EndPulse(m)
    \/ \E pair \in Joined : TakeToken(pair[1], pair[2])

SubmitsNext(n) == rank[n] < Len(Submits[n]) /\ \E to \in Submits[n][rank[n] + 1] : Submit(n, rank[n] + 1, to)

(* All that was submitted has been executed by all its receivers, and the pulses of all switches are equal. *)
Done ==
    /\ \A i \in DOMAIN sent : \A t \in sent[i].to : \E s \in Range(executed[t]) : Isochron(s) = i
    /\ \A m, o \in Manager : clock[m] = clock[o]

(* The model stops where all is done; where it stops otherwise, the checker says deadlock. *)
Rests == Done /\ UNCHANGED pulseVars

Next == Works \/ (\E n \in Node : SubmitsNext(n)) \/ Rests
Spec == PulseInit /\ [][Next]_pulseVars
FairSpec == Spec /\ WF_pulseVars(Works)

-----------------------------------------------------------------------------
(* What must hold. *)

(* Each node executes in the order of the stamps, each once. *)
OneOrder == \A n \in Node : \A i \in 1..(Len(executed[n]) - 1) : Before(executed[n][i], executed[n][i + 1])

(* All parts of an isochron are executed at one stamp, by its receivers alone. *)
Atomic ==
    \A a, b \in Node : \A s \in Range(executed[a]), t \in Range(executed[b]) :
        /\ Isochron(s) = Isochron(t) => s = t
        /\ a \in To(Isochron(s))

(* No announcement comes to a switch that has ended its pulse, and no marker to a node that was told a later one. *)
NothingLate ==
    /\ \A pair \in Joined : \A token \in Range(tokens[pair]) : \A s \in token.entries : s[1] > clock[pair[2]]
    /\ \A n \in Node : LET all == told[n] \o markers[n]
                       IN \A i \in 1..(Len(all) - 1) : Before(all[i], all[i + 1])

(* First in first out and causal: what a node submits is behind all that it had executed, and in its order. *)
Causal ==
    \A n \in Node : \A s \in Range(executed[n]) :
        /\ Before(sent[Isochron(s)].after, s)
        /\ \A m \in Node : \A t \in Range(executed[m]) : s[2] = t[2] /\ s[3] < t[3] => Before(s, t)

(* The pulses of neighbours differ by one at most. *)
InStep == \A pair \in Joined : clock[pair[1]] - clock[pair[2]] \in -1..1

(* What a marker names is with its receiver, so that nobody's end can take it away: safe delivery. Or that is its only receiver. *)
Safe == \A n \in Node : \A s \in Range(told[n]) : IsHere(n, Isochron(s)) \/ To(Isochron(s)) = {n}

(* What was executed follows from nothing that can be lost: all earlier ones of its sender are with their receivers. *)
NothingBehindALoss ==
    \A n \in Node : \A s \in Range(executed[n]) : \A r \in 1..(s[3] - 1) :
        <<s[2], r>> \in DOMAIN sent => \A t \in To(<<s[2], r>>) : IsHere(t, <<s[2], r>>)

(* Under fairness all is done in the end, and stays so: tokens come to rest. *)
Progress == <>[](Done /\ ~ENABLED Works)
=============================================================================
