%% MochiWeb: an Erlang process for each connection.
%%
%%     erl -noshell -run http_peer main HOST PORT
-module(http_peer).
-export([main/1]).

main([Host, Port]) ->
    {ok, _} = application:ensure_all_started(mochiweb),
    %% Not linked: it has to outlive the process that -run makes for us.
    {ok, _} = mochiweb_http:start([{name, ?MODULE},
                                   {ip, Host},
                                   {port, list_to_integer(Port)},
                                   {backlog, 4096},
                                   {nodelay, true},
                                   {link, false},
                                   {max, 100000},
                                   {loop, fun handle/1}]).

handle(Req) ->
    case mochiweb_request:get(path, Req) of
        "/answer" -> ok("text/plain", "42", Req);
        "/hello" -> ok("text/plain", "Hello, World!", Req);
        "/redirect" -> redirect(Req);
        "/echo" -> echo(Req);
        _ -> mochiweb_request:not_found(Req)
    end.

ok(Type, Body, Req) ->
    mochiweb_request:respond({200, [{"Content-Type", Type}], Body}, Req).

redirect(Req) ->
    Pictures = {"iterative", "forking", "threaded", "epoll"},
    Picture = element(rand:uniform(tuple_size(Pictures)), Pictures),
    Location = "/pictures/" ++ Picture ++ ".svg",
    mochiweb_request:respond({302, [{"Location", Location}], ""}, Req).

echo(Req) ->
    Content =
        case proplists:get_value("value", mochiweb_request:parse_qs(Req)) of
            undefined ->
                "<error>no value specified</error>";
            Value ->
                ["<value>", mochiweb_html:escape(Value), "</value>"]
        end,
    ok("text/xml", ["<http_test>", Content, "</http_test>"], Req).
