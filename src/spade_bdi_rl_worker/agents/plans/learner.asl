// The learner: decides again and again what the next episodes are for. Which action to take in a
// state is no matter of plans; that is what it learns.
//
// What it knows before every decision (from the world):
//   episodes(N)        episodes played so far
//   success_rate(R)    of the last episodes, 0 to 1
//   mean_return(R)     of the last episodes
//   confidence(C)      how sure its values are where it usually is, 0 to 1
//   stagnating(true)   nothing has become better for a while
//   batch(N)           how many episodes a decision is for (from the run's settings)
// What it is told by the coach:
//   pursue_goal(Kind, Target)   a goal: explore, exploit, or a subgoal with a state as its target
//   give_up                     a goal that takes the present one back
//   demand(R)                   the success rate that counts as good
//   praise(R)                   well done
//
// .pursue(Kind, Target, Episodes, Outcome) plays; Outcome becomes reached or missed for a subgoal,
// played for the others, interrupted if something came in between. .interrupt ends what is pursued
// at once. .send(coach, tell, belief) goes through the server. .note("…") is for people to read.

// After so many batches that miss a subgoal it is given up.
patience(5).
// So sure of its values that it may rely on them.
sure(0.9).
// Until the coach says otherwise.
demand(0.7).
missed(0).
reported(0).
asked(0).

!live.

// --- Again and again: choose, then begin anew. "!!" starts afresh; with "!" every round would wait
// --- inside the one before it.

@live
+!live <-
    !choose;
    !report;
    !!live.

// A choice that went wrong (an unknown state, say): forget the wish and go on.
@recover
-!live <-
    .note("that did not work, so the learner decides anew");
    .abolish(wanted(_, _));
    .wait(100);
    !!live.

// --- What to pursue. The first plan that fits is taken.

// Too many misses: the subgoal is beyond reach for now.
@give_up_subgoal
+!choose : wanted(subgoal, Target) & missed(M) & patience(P) & M >= P <-
    .note("gave up", Target, "after", M, "batches without reaching it");
    .send(coach, tell, gave_up(Target));
    !forget_goal.

@follow_subgoal
+!choose : wanted(subgoal, Target) <-
    !batch_size(N);
    .pursue(subgoal, Target, N, Outcome);
    !judge(Outcome).

@explore_as_told
+!choose : wanted(explore, _) <-
    !batch_size(N);
    .pursue(explore, none, N, _).

@exploit_as_told
+!choose : wanted(exploit, _) <-
    !batch_size(N);
    .pursue(exploit, none, N, _).

// Nothing gets better: ask, at most once in a hundred batches, and explore meanwhile.
@ask_the_coach
+!choose : stagnating(true) & episodes(E) & asked(A) & batch(B) & success_rate(R) & demand(D) & R < D & E >= A + 100 * B <-
    -+asked(E);
    .send(coach, tell, stuck(E, R));
    !explore.

// Good enough and sure of it: use what is known, to see what it is worth.
@exploit
+!choose : success_rate(R) & demand(D) & R >= D & confidence(C) & sure(S) & C >= S <-
    !batch_size(N);
    .pursue(exploit, none, N, _).

@otherwise_explore
+!choose <- !explore.

+!explore <-
    !batch_size(N);
    .pursue(explore, none, N, _).

+!batch_size(N) : batch(N).
+!batch_size(50).

// --- How a batch for a subgoal went.

+!judge(reached) <- -+missed(0).
+!judge(missed) : missed(M) <- -+missed(M + 1).
+!judge(_).

// --- Tell the coach when the success rate has changed by a tenth.

@report
+!report : success_rate(R) & reported(Last) & (R >= Last + 0.1 | R <= Last - 0.1) & episodes(E) & mean_return(M) <-
    -+reported(R);
    .send(coach, tell, progress(E, R, M)).
+!report.

// --- What the coach says.

@new_goal
+!pursue_goal(Kind, Target)[source(Who)] <-
    .note(Who, "wants:", Kind, Target);
    .abolish(wanted(_, _));
    -+missed(0);
    +wanted(Kind, Target);
    .interrupt.

@goal_taken_back
+!give_up[source(Who)] <-
    .note(Who, "takes the goal back");
    !forget_goal;
    .interrupt.

+!forget_goal <-
    .abolish(wanted(_, _));
    -+missed(0).

// A new demand takes the place of the old one.
@new_demand
+demand(R)[source(Who)] <-
    .abolish(demand(_));
    +demand(R).

@praised
+praise(R)[source(Who)] <-
    .note(Who, "is content: success rate", R);
    .abolish(praise(_)).
