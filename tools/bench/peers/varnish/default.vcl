# Varnish answering by itself: synth() for each path, no backend.

vcl 4.1;

import std;

backend default none;

sub vcl_recv {
    if (req.url == "/answer") {
        return (synth(200, "42"));
    }
    if (req.url == "/hello") {
        return (synth(200, "Hello, World!"));
    }
    if (req.url == "/redirect") {
        return (synth(302));
    }
    return (synth(404));
}

sub vcl_synth {
    if (resp.status == 302) {
        # 1 to 4, each as likely as the others.
        set req.http.Picture = std.integer(real = std.random(1, 5));
        if (req.http.Picture == "1") {
            set resp.http.Location = "/pictures/iterative.svg";
        } elsif (req.http.Picture == "2") {
            set resp.http.Location = "/pictures/forking.svg";
        } elsif (req.http.Picture == "3") {
            set resp.http.Location = "/pictures/threaded.svg";
        } else {
            set resp.http.Location = "/pictures/epoll.svg";
        }
        set resp.body = "";
    } elsif (resp.status == 200) {
        # What was given to synth() arrives as the reason phrase.
        set resp.http.Content-Type = "text/plain";
        set resp.body = resp.reason;
        set resp.reason = "OK";
    }
    return (deliver);
}
