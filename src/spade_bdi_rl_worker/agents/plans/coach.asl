// The coach: sets goals for the learner, answers when it is stuck, praises it or asks for less.
//
// People speak through it: a goal that somebody sets in the window or by `mosaic control` arrives
// here as set_goal(Kind, Target), and goes on to the learner as a message through the server.
//
// What it is told by the learner:
//   progress(Episodes, SuccessRate, MeanReturn)
//   stuck(Episodes, SuccessRate)
//   gave_up(Target)

// The success rate that it demands; the least, and the steps it goes up and down by.
demand(0.7).
least(0.2).
step(0.1).
times_stuck(0).

// --- Goals that people set.

@set_goal
+!set_goal(Kind, Target)[source(person)] <-
    -+goal(Kind, Target);
    .send(learner, achieve, pursue_goal(Kind, Target)).

@take_goal_back
+!take_goal_back[source(person)] <-
    .abolish(goal(_, _));
    .send(learner, achieve, give_up).

// --- What the learner says.

// As good as was asked for: praise it, and ask for more next time.
@praise
+progress(E, R, M)[source(learner)] : demand(D) & R >= D <-
    .abolish(progress(_, _, _));
    -+times_stuck(0);
    .send(learner, tell, praise(R));
    !raise_demand(D).

@take_note
+progress(E, R, M)[source(learner)] <-
    .abolish(progress(_, _, _)).

+!raise_demand(D) : step(S) & D + S <= 1 <-
    -+demand(D + S);
    .send(learner, tell, demand(D + S)).
+!raise_demand(_).

// Stuck for the second time: what is asked for is too much for now.
@ask_for_less
+stuck(E, R)[source(learner)] : times_stuck(N) & N >= 1 & demand(D) & step(S) & least(L) & D - S >= L <-
    .abolish(stuck(_, _));
    -+times_stuck(0);
    -+demand(D - S);
    .note("asks the learner for less: success rate", D - S);
    .send(learner, tell, demand(D - S)).

@encourage
+stuck(E, R)[source(learner)] : times_stuck(N) <-
    .abolish(stuck(_, _));
    -+times_stuck(N + 1);
    .note("the learner is stuck after", E, "episodes; it is to explore on").

@accept_giving_up
+gave_up(Target)[source(learner)] <-
    .abolish(gave_up(_));
    .abolish(goal(_, _));
    .note("the learner gave up", Target).
