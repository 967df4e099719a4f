// Asks the backend for each page, with a pool of four platform threads. With
// Executors.newVirtualThreadPerTaskExecutor(), since Java 21, the same lines wait as in Go.

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.URL;
import java.util.concurrent.Executors;

public class Server {
    public static void main(String[] words) throws IOException {
        URL backend = new URL("http://127.0.0.1:" + words[1] + "/");
        HttpServer server = HttpServer.create(
                new InetSocketAddress("127.0.0.1", Integer.parseInt(words[0])), 128);
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.createContext("/", page -> {
            try (page; InputStream reply = backend.openStream()) {   // the thread waits here
                byte[] text = reply.readAllBytes();
                page.sendResponseHeaders(200, text.length);
                page.getResponseBody().write(text);
            }
        });
        server.start();
    }
}
