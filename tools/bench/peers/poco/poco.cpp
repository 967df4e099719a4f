// POCO: a thread for each connection, from a pool.
//
//     poco PORT THREADS

#include "peer.h"

#include <Poco/Net/HTTPRequestHandler.h>
#include <Poco/Net/HTTPRequestHandlerFactory.h>
#include <Poco/Net/HTTPServer.h>
#include <Poco/Net/HTTPServerParams.h>
#include <Poco/Net/HTTPServerRequest.h>
#include <Poco/Net/HTTPServerResponse.h>
#include <Poco/Net/ServerSocket.h>
#include <Poco/Net/SocketAddress.h>
#include <Poco/ThreadPool.h>
#include <Poco/URI.h>

#include <pthread.h>
#include <string>

using namespace Poco::Net;

namespace {

void send(HTTPServerResponse &response, const char *type,
          const std::string &body)
{
    response.setContentType(type);
    response.sendBuffer(body.data(), body.size());
}

void echo(const Poco::URI &uri, HTTPServerResponse &response)
{
    const std::string *value = nullptr;
    const auto parameters = uri.getQueryParameters();

    for (const auto &parameter : parameters)
        if (parameter.first == "value")
            value = &parameter.second;

    char *body = peer_echo(value != nullptr ? value->c_str() : nullptr);
    if (body == nullptr)
        throw std::bad_alloc();
    send(response, "text/xml", body);
    free(body);
}

class Handler : public HTTPRequestHandler {
public:
    void handleRequest(HTTPServerRequest &request,
                       HTTPServerResponse &response) override
    {
        const std::string &target = request.getURI();

        if (target == "/answer") {
            send(response, "text/plain", "42");
        } else if (target == "/hello") {
            send(response, "text/plain", "Hello, World!");
        } else if (target == "/redirect") {
            response.setStatusAndReason(HTTPResponse::HTTP_FOUND);
            response.set("Location", peer_pictures[peer_random_picture()]);
            send(response, "text/plain", "");
        } else if (target.compare(0, 5, "/echo") == 0) {
            echo(Poco::URI(target), response);
        } else {
            response.setStatusAndReason(HTTPResponse::HTTP_NOT_FOUND);
            send(response, "text/plain", "not found");
        }
    }
};

class Factory : public HTTPRequestHandlerFactory {
public:
    HTTPRequestHandler *createRequestHandler(const HTTPServerRequest &) override
    {
        return new Handler;
    }
};

} // namespace

int main(int argc, char *argv[])
{
    if (argc != 3)
        errx(2, "usage: poco PORT THREADS");
    const int threads = std::stoi(argv[2]);

    // Blocked before there are threads, so that only sigwait sees it.
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);

    HTTPServerParams::Ptr params = new HTTPServerParams;
    params->setMaxThreads(threads);
    params->setMaxQueued(20000);
    params->setKeepAlive(true);
    Poco::ThreadPool pool(2, threads);
    ServerSocket socket(SocketAddress("127.0.0.1", argv[1]), 4096);
    HTTPServer server(new Factory, pool, socket, params);
    server.start();

    int sig;
    sigwait(&set, &sig);
    server.stopAll(true);
}
