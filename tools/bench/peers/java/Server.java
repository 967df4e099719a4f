/*
 * The JDK's own com.sun.net.httpserver. Without a pool the one thread that
 * waits for connections also answers them; with a pool it hands each request
 * to a thread of the pool.
 *
 *     java Server HOST PORT [THREADS]
 */

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;

public class Server {
    private static final String[] PICTURES = {
        "iterative", "forking", "threaded", "epoll"};

    private static void send(HttpExchange exchange, int status, String type,
                             String body) throws IOException {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", type);
        // The server closes when asked to, but does not announce it.
        if ("close".equalsIgnoreCase(
                exchange.getRequestHeaders().getFirst("Connection"))) {
            exchange.getResponseHeaders().set("Connection", "close");
        }
        // To this call a length of -1 means that there is no body.
        exchange.sendResponseHeaders(status, bytes.length == 0 ? -1 : bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    private static void redirect(HttpExchange exchange) throws IOException {
        int drawn = ThreadLocalRandom.current().nextInt(PICTURES.length);
        exchange.getResponseHeaders().set(
            "Location", "/pictures/" + PICTURES[drawn] + ".svg");
        send(exchange, 302, "text/plain", "");
    }

    /** Returns the decoded value of that name in a query, null if none. */
    private static String parameter(String query, String name) {
        if (query != null) {
            for (String pair : query.split("&")) {
                if (pair.startsWith(name + "=")) {
                    return URLDecoder.decode(
                        pair.substring(name.length() + 1), StandardCharsets.UTF_8);
                }
            }
        }
        return null;
    }

    private static void echo(HttpExchange exchange) throws IOException {
        String value = parameter(exchange.getRequestURI().getRawQuery(), "value");
        String content = value == null
            ? "<error>no value specified</error>"
            : "<value>" + value.replace("&", "&amp;").replace("<", "&lt;")
                               .replace(">", "&gt;") + "</value>";
        send(exchange, 200, "text/xml", "<http_test>" + content + "</http_test>");
    }

    private static void handle(HttpExchange exchange) throws IOException {
        switch (exchange.getRequestURI().getPath()) {
            case "/answer" -> send(exchange, 200, "text/plain", "42");
            case "/hello" -> send(exchange, 200, "text/plain", "Hello, World!");
            case "/redirect" -> redirect(exchange);
            case "/echo" -> echo(exchange);
            default -> send(exchange, 404, "text/plain", "not found");
        }
    }

    public static void main(String[] args) throws IOException {
        InetSocketAddress address = new InetSocketAddress(
            args[0], Integer.parseInt(args[1]));
        HttpServer server = HttpServer.create(address, 4096);
        server.createContext("/", Server::handle);
        if (args.length > 2) {
            server.setExecutor(
                Executors.newFixedThreadPool(Integer.parseInt(args[2])));
        }
        server.start();
    }
}
