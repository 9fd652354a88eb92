package main

// nginxFile has the same three limits: by key, by address, for the whole server.
const nginxFile = `daemon off;
worker_processes auto;
pid nginx.pid;
error_log error.log;
events { worker_connections 4096; }
http {
	access_log off;
	client_body_temp_path body;
	proxy_temp_path proxy;
	fastcgi_temp_path fastcgi;
	uwsgi_temp_path uwsgi;
	scgi_temp_path scgi;
	keepalive_requests 1000000;
	limit_req_zone $http_x_api_key zone=key:10m rate=1000000r/s;
	limit_req_zone $binary_remote_addr zone=address:10m rate=1000000r/s;
	limit_req_zone $server_name zone=service:1m rate=1000000r/s;
	limit_req_status 429;
	upstream orders {
		server %s;
		keepalive 256;
		keepalive_requests 1000000;
	}
	server {
		listen %s;
		server_name api.example;
		location / {
			limit_req zone=key burst=100000 nodelay;
			limit_req zone=address burst=100000 nodelay;
			limit_req zone=service burst=100000 nodelay;
			proxy_pass http://orders;
			proxy_http_version 1.1;
			proxy_set_header Connection "";
			proxy_set_header Host $host;
			proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
		}
	}
}
`
