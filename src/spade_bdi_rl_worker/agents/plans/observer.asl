// An observer: is told what others find worth telling, and says so to people. It wants nothing.
//
// Send it something from a plan of yours: .send(NAME, tell, saw("the key")).

seen(0).

@observe
+saw(What)[source(Who)] : seen(N) <-
    .abolish(saw(_));
    -+seen(N + 1);
    .note(Who, "saw", What).
