---------------------------- MODULE PulsesTrace ----------------------------
(***************************************************************************)
(* Whether what the product's nodes and token managers did in a run is a   *)
(* behaviour of Pulses: each step of the trace has to be one that Pulses   *)
(* allows there, with the same stamps, tokens and markers, and all is done *)
(* in the end. A step that is none is a deadlock of this specification.    *)
(* Module Observed is made of a trace by observed.py.                      *)
(***************************************************************************)
EXTENDS Pulses, Observed

VARIABLE line   \* The step of the trace that is next.

Alike(seq, set) == Range(seq) = set

(* What the trace says of a step is what the specification makes of it. *)
IsStep(s) ==
    CASE s.step = "submit"    -> Submit(s.node, s.rank, Range(s.to))
      [] s.step = "part"      -> TakePart(s.node, s.sender, s.rank)
      [] s.step = "received"  -> TakeAck(s.node, s.sender, s.rank)
      [] s.step = "announced" -> /\ announces[s.node] # <<>> /\ Head(announces[s.node]) = s.rank
                                 /\ Alike(s.to, To(<<s.node, s.rank>>))
                                 /\ TakeAnnounce(s.node)
      [] s.step = "pulse"     -> EndPulse(s.manager) /\ clock'[s.manager] = s.pulse
      [] s.step = "token"     -> /\ tokens[<<s.from, s.manager>>] # <<>>
                                 /\ Head(tokens[<<s.from, s.manager>>]).number = s.number
                                 /\ Alike(s.stamps, Head(tokens[<<s.from, s.manager>>]).entries)
                                 /\ TakeToken(s.manager, s.from)
      [] s.step = "marker"    -> markers[s.node] # <<>> /\ Head(markers[s.node]) = s.stamp /\ TakeMarker(s.node)
      [] s.step = "execute"   -> Execute(s.node) /\ executed'[s.node][Len(executed'[s.node])] = s.stamp

(* A manager stamps at once what can be stamped: that is no step of its own in a trace. *)
TraceNext ==
    IF \E n \in Node : MayStamp(n)
    THEN Stamp(CHOOSE n \in Node : MayStamp(n)) /\ UNCHANGED line
    ELSE IF line <= Len(Steps) THEN IsStep(Steps[line]) /\ line' = line + 1
    ELSE Done /\ UNCHANGED <<pulseVars, line>>

TraceSpec == PulseInit /\ line = 1 /\ [][TraceNext]_<<pulseVars, line>>
=============================================================================
