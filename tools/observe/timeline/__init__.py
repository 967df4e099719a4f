"""A burst of clients, traced with strace and drawn as a timeline."""
